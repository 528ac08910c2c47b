//! The names of directories that hold what is a task's or an instance's.
//!
//! An element may be any text; a name in a file system may not. What is in them is others' business.

use crate::source::Text;

/// The longest name, in bytes.
const LONGEST_NAME: usize = 200;

/// The name of a directory of what is a task's or an instance's: its files, or the run of the plan that it calls.
#[must_use]
pub fn directory(task: &str, element: Option<&str>) -> Text {
    let Some(element) = element else { return task.into() };
    let mut name = format!("{task}[");
    for byte in element.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name.push(']');
    if name.len() > LONGEST_NAME {
        let digest = blake3::hash(name.as_bytes()).to_hex();
        let digest = &digest[..32];
        name.truncate(LONGEST_NAME - digest.len() - 1);
        name.push('-');
        name.push_str(digest);
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_become_directory_names() {
        assert_eq!(directory("m", None), "m");
        assert_eq!(directory("m", Some("b c")), "m[b%20c]");
        assert_eq!(directory("m", Some("../ä")), "m[..%2F%C3%A4]");
        let long = directory("m", Some(&"x".repeat(300)));
        assert_eq!(long.len(), LONGEST_NAME);
        assert_ne!(long, directory("m", Some(&"x".repeat(301))));
    }
}
