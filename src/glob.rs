//! Globs over paths with `/` between components: `*`, `?`, `[a-z]` within one, `**` across several.
//!
//! Unaware of the file system; a path is text.

use regex::Regex;

/// A pattern for whole paths.
#[derive(Clone, Debug)]
pub struct Glob(Option<Regex>);

impl Glob {
    /// Reads a pattern. One that cannot be read matches nothing; [`Glob::is_valid`] tells.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        Self(expression(pattern).and_then(|text| Regex::new(&text).ok()))
    }

    /// Whether the pattern could be read.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the whole `path` matches. A pattern that names a directory does not match what is in it.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(path))
    }
}

fn expression(pattern: &str) -> Option<String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let mut out = String::from("(?s)^");
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let at_start = rest.len() == pattern.len() || pattern[..pattern.len() - rest.len()].ends_with('/');
        if let Some(after) = rest.strip_prefix("**/").filter(|_| at_start) {
            out.push_str("(?:[^/]+/)*");
            rest = after;
            continue;
        }
        if rest == "**" && at_start {
            out.push_str(".+");
            break;
        }
        match char {
            '*' => {
                out.push_str("[^/]*");
                rest = rest.trim_start_matches('*');
                continue;
            }
            '?' => out.push_str("[^/]"),
            '[' => {
                let end = rest[1..].find(']').filter(|&end| end > 0)? + 1;
                let class = &rest[1..end];
                let class =
                    class.strip_prefix('!').map_or_else(|| class.to_owned(), |rest| format!("^{rest}"));
                out.push('[');
                out.push_str(&class.replace('\\', "\\\\").replace('[', "\\[").replace("&&", "&\\&"));
                out.push(']');
                rest = &rest[end + 1..];
                continue;
            }
            other => out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
        rest = &rest[char.len_utf8()..];
    }
    out.push('$');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn globs_match_whole_paths() {
        for (pattern, path, matches) in [
            ("check.sh", "check.sh", true),
            ("./check.sh", "check.sh", true),
            ("check.sh", "tools/check.sh", false),
            ("*.sh", "check.sh", true),
            ("*.sh", "tools/check.sh", false),
            ("**/*.sh", "check.sh", true),
            ("**/*.sh", "a/b/check.sh", true),
            ("tests/**", "tests/a/b.txt", true),
            ("tests/**", "tests", false),
            ("tests/**/x", "tests/x", true),
            ("tests/**/x", "tests/a/b/x", true),
            ("**", "a/b", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("[a-c].txt", "b.txt", true),
            ("[!a-c].txt", "b.txt", false),
            ("a.b", "axb", false),
            ("é*", "été", true),
            ("[a", "[a", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(path), matches, "{pattern} {path}");
        }
        assert!(!Glob::new("[a").is_valid());
    }
}
