//! The templates of reports: how they are read, and what is wrong with the text of one.
//!
//! Unaware of what a template is rendered from.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};

/// What templates are read and rendered in: a name that is missing is an error, and the text's last line
/// break stays.
#[must_use]
pub fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    syntax.keep_trailing_newline(true);
    environment.set_syntax(syntax.build().expect("the usual delimiters tell apart"));
    environment.set_debug(true);
    environment
}

/// What is wrong with a template before it is rendered: the line, where known, and one clause.
#[must_use]
pub fn wrong(name: &str, text: &str) -> Option<(Option<usize>, String)> {
    let environment = environment();
    let error = environment.template_from_named_str(name, text).err()?;
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    Some((error.line(), what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_judged_without_values() {
        assert_eq!(wrong("a", "{{ x.y | upper }}\n{% for a in b %}{{ a }}{% endfor %}"), None);
        let (line, what) = wrong("a", "one\n{% if x %}\n").unwrap();
        assert_eq!(line, Some(2), "{what}");
        assert!(wrong("a", "{{ x").is_some());
        assert!(wrong("a", "{% nothing %}").is_some());
    }
}
