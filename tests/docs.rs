//! Every `plan` block in README.md and docs/ compiles without a finding, and so does every pack. A block
//! under "Raises it:" is a bad example, and has a finding.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use plan::compile::{Bindings, compile};
use plan::load::{Pack, Unreadable, World};

/// One text, and nothing beside it.
struct Alone<'a>(&'a str);

impl World for Alone<'_> {
    fn read(&mut self, path: &Utf8Path) -> Result<Vec<u8>, Unreadable> {
        if path == "block.plan" { Ok(self.0.as_bytes().to_vec()) } else { Err(Unreadable::Missing) }
    }

    fn shown(&self, path: &Utf8Path) -> Utf8PathBuf {
        path.to_owned()
    }
}

fn root() -> &'static Utf8Path {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A `plan` block of a page: the line that it starts at, its text, and whether it is a bad example.
struct Block {
    line: usize,
    text: String,
    bad: bool,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    for (line, number) in page.lines().zip(1..) {
        match &mut open {
            Some(block) if line.trim() != "```" => block.text.extend([line, "\n"]),
            Some(_) => found.extend(open.take()),
            None if line.trim() == "```plan" => {
                open = Some(Block { line: number + 1, text: String::new(), bad: before == "Raises it:" });
            }
            None if !line.trim().is_empty() => before = line.trim(),
            None => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

#[test]
fn every_block_of_the_docs_compiles() {
    let pages = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.chain([root().join("README.md").into_std_path_buf()]);
    let mut count = 0;
    for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        for Block { line, text, bad } in blocks(&fs::read_to_string(&page).unwrap()) {
            let found =
                compile(&mut Alone(&text), Utf8Path::new("block.plan"), &Bindings::check()).diagnostics;
            assert!(found.is_empty() != bad, "{}:{line}: {found:#?}", page.display());
            count += 1;
        }
    }
    assert!(count > 10, "only {count} blocks were found");
}

#[test]
fn every_pack_compiles() {
    let mut count = 0;
    for pack in fs::read_dir(root().join("packs")).unwrap() {
        for file in fs::read_dir(pack.unwrap().path()).unwrap() {
            let path = Utf8PathBuf::from_path_buf(file.unwrap().path()).unwrap();
            if path.extension() == Some("plan") {
                let (mut world, entry) = Pack::around(&path);
                let found = compile(&mut world, &entry, &Bindings::check()).diagnostics;
                assert!(found.is_empty(), "{path}: {found:#?}");
                count += 1;
            }
        }
    }
    assert!(count > 0);
}
