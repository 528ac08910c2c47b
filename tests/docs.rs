//! Every `plan` block in README.md and docs/ compiles without a finding, and so does every pack. The good and
//! bad examples that docs/diagnostics.md is rendered from are held by tests/rules.rs, with their files.

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

/// The `plan` blocks of a page, each with the line that it starts at.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (line, number) in page.lines().zip(1..) {
        match &mut open {
            Some((_, text)) if line.trim() != "```" => {
                text.push_str(line);
                text.push('\n');
            }
            Some(_) => found.extend(open.take()),
            None if line.trim() == "```plan" => open = Some((number + 1, String::new())),
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
    let written = |page: &std::path::PathBuf| !page.ends_with("docs/diagnostics.md");
    for page in
        pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")).filter(written)
    {
        for (line, text) in blocks(&fs::read_to_string(&page).unwrap()) {
            let found =
                compile(&mut Alone(&text), Utf8Path::new("block.plan"), &Bindings::check()).diagnostics;
            assert!(found.is_empty(), "{}:{line}: {found:#?}", page.display());
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
