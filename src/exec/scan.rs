//! The words of a shell text, as far as they are known before it runs.
//!
//! No shell: where one would have to run to say what a word is, the text is one that nobody can tell the words
//! of. What words mean is others' business.

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its text.
    Text(String),
    /// What the attempt was given and is compared by itself: it stands for [`GIVEN`].
    Given,
    /// A number or a name of this run: it stands for [`OWN`].
    Own,
    /// A secret: it stands for [`SECRET`].
    Secret,
    /// The directory that it runs in.
    Here,
    /// Nobody knows.
    No,
}

/// Stands for something that is another one in every run.
pub(super) const OWN: char = '\0';
/// Stands for the place of something that an attempt is given.
pub(super) const GIVEN: char = '\u{1}';
/// Stands for a secret.
pub(super) const SECRET: char = '\u{2}';

/// One word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// It, without quotes.
    pub text: String,
    /// Whether any of it was quoted.
    pub quoted: bool,
    /// Whether it may be the name of a program.
    pub first: bool,
    /// Whether it is what output goes to.
    pub output: bool,
}

/// The words of `text`. A variable that `whole`, which it is a part of, may set is not known.
///
/// # Errors
/// The part that nobody can tell before it runs.
pub(super) fn words(text: &str, whole: &str, look: &dyn Fn(&str) -> Known) -> Result<Vec<Word>, String> {
    let mut scan = Scan { whole, rest: text, look, words: Vec::new(), word: None, next: Next::Program };
    while let Some(c) = scan.take() {
        scan.one(c)?;
    }
    scan.end()?;
    Ok(scan.words)
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Program,
    Argument,
    /// What input comes from, or output goes to.
    Beside {
        output: bool,
        program: bool,
    },
}

struct Scan<'a> {
    whole: &'a str,
    rest: &'a str,
    look: &'a dyn Fn(&str) -> Known,
    words: Vec<Word>,
    word: Option<Word>,
    next: Next,
}

impl Scan<'_> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, what: &str) -> bool {
        let rest = self.rest.strip_prefix(what);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn one(&mut self, c: char) -> Result<(), String> {
        let alone = self.rest.chars().next().is_none_or(|next| " \t\n;".contains(next));
        match c {
            ' ' | '\t' => self.end()?,
            '&' if self.rest.starts_with('>') => self.end()?,
            '\n' | ';' | '&' | '|' | '(' | ')' => {
                self.end()?;
                self.next = Next::Program;
            }
            '<' | '>' => self.redirect(c)?,
            '#' if self.word.is_none() => {
                let line = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[line..];
            }
            '\'' => {
                let (inside, after) =
                    self.rest.split_once('\'').ok_or("a quote that does not end".to_owned())?;
                self.rest = after;
                let word = self.word();
                word.quoted = true;
                word.text.push_str(inside);
            }
            '"' => self.quoted()?,
            '\\' => match self.take() {
                Some('\n') | None => {}
                Some(c) => {
                    let word = self.word();
                    word.quoted = true;
                    word.text.push(c);
                }
            },
            '$' => self.dollar(false)?,
            '`' => return Err("`…` in backquotes".to_owned()),
            '{' if self.word.is_none() && alone => self.next = Next::Program,
            '{' if self.word.is_none() && self.skip("}") => self.word().text.push_str("{}"),
            '[' if self.word.is_none() && (alone || self.rest.starts_with("[ ")) => self.word().text.push(c),
            '[' if self.word.as_ref().is_some_and(|word| word.text == "[") && alone => {
                self.word().text.push(c);
            }
            '{' | '[' => return Err(format!("`{c}`")),
            '~' if self.word.as_ref().is_none_or(|word| word.text.ends_with(['=', ':'])) => {
                return Err("`~`".to_owned());
            }
            c => self.word().text.push(c),
        }
        Ok(())
    }

    fn redirect(&mut self, c: char) -> Result<(), String> {
        // The number before it is that of a stream.
        if self.word.as_ref().is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end()?;
        if c == '<' && self.skip("<") && !self.skip("<") {
            return Err("a here-document".to_owned());
        }
        let both = self.skip(">") && c == '<';
        let _ = self.skip("|") || self.skip("&");
        let program = match self.next {
            Next::Program => true,
            Next::Argument => false,
            Next::Beside { program, .. } => program,
        };
        self.next = Next::Beside { output: c == '>' && !both, program };
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), String> {
        self.word().quoted = true;
        loop {
            match self.take() {
                Some('"') => return Ok(()),
                Some('\\') => match self.take() {
                    Some('\n') => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.word().text.push(c),
                    Some(c) => self.word().text.extend(['\\', c]),
                    None => return Err("a quote that does not end".to_owned()),
                },
                Some('$') => self.dollar(true)?,
                Some('`') => return Err("`…` in backquotes".to_owned()),
                Some(c) => self.word().text.push(c),
                None => return Err("a quote that does not end".to_owned()),
            }
        }
    }

    /// What stands after a `$`.
    fn dollar(&mut self, quoted: bool) -> Result<(), String> {
        let rest = self.rest;
        let braced = rest.starts_with('{');
        let start = usize::from(braced);
        let inside = &rest[start..];
        let length = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
        let name = &inside[..length];
        let after = &inside[length..];
        let named = name.starts_with(|c: char| !c.is_ascii_digit());
        if braced && !(named && after.starts_with('}')) {
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            return Err(format!("`${}`", &rest[..end]));
        }
        if named {
            self.rest = &after[start..];
            let known = if self.is_set(name) { Known::No } else { (self.look)(name) };
            let text = match known {
                Known::Text(text) => text,
                Known::Given => GIVEN.into(),
                Known::Own => OWN.into(),
                Known::Secret => SECRET.into(),
                Known::Here => ".".into(),
                Known::No => return Err(format!("`${name}`")),
            };
            self.word().text.push_str(&text);
            return Ok(());
        }
        match rest.chars().next() {
            Some('?' | '#' | '!' | '$' | '-') => {
                self.take();
                self.word().text.push(OWN);
            }
            Some('(') => return Err("`$(…)`".to_owned()),
            Some(c @ ('@' | '*' | '0'..='9')) => return Err(format!("`${c}`")),
            Some('\'' | '"') if !quoted => return Err("`$'…'`".to_owned()),
            Some(_) | None => self.word().text.push('$'),
        }
        Ok(())
    }

    /// Whether the text may give `name` another value: it stands somewhere without a `$`.
    fn is_set(&self, name: &str) -> bool {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.whole.match_indices(name).any(|(at, _)| {
            let (before, after) = (&self.whole[..at], &self.whole[at + name.len()..]);
            let other = before.ends_with(part) || after.starts_with(part);
            let read = before.ends_with('$') || before.ends_with("${");
            !(other || read)
        })
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(mut word) = self.word.take() else { return Ok(()) };
        (word.first, word.output) = match self.next {
            Next::Program => (true, false),
            Next::Argument => (false, false),
            Next::Beside { output, .. } => (false, output),
        };
        self.next = match self.next {
            Next::Beside { program: true, .. } => Next::Program,
            Next::Program | Next::Argument | Next::Beside { program: false, .. } => Next::Argument,
        };
        self.words.push(word);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str) -> Known {
        match name {
            "NAME" => Known::Text("moon".to_owned()),
            "PWD" => Known::Here,
            "PLAN_FILES" => Known::Given,
            _ => Known::No,
        }
    }

    fn split(text: &str) -> Result<Vec<String>, String> {
        let shown = |word: Word| {
            let mark = if word.output { ">" } else { "" };
            let mark = if word.first { "!" } else { mark };
            format!("{mark}{}", word.text)
        };
        words(text, text, &look).map(|words| words.into_iter().map(shown).collect())
    }

    #[test]
    fn words_are_those_that_a_shell_sees() {
        for (text, wanted) in [
            ("cat 'my file.dat' a\\ b.txt", vec!["!cat", "my file.dat", "a b.txt"]),
            ("cat $PWD/in.txt \"$NAME\"x ${NAME}", vec!["!cat", "./in.txt", "moonx", "moon"]),
            ("a 2>&1 >x | b < y && > z c # d", vec!["!a", ">1", ">x", "!b", "y", ">z", "!c"]),
            (
                "if [ -e x ]; then { y; } fi &>z",
                vec!["!if", "[", "-e", "x", "]", "!then", "!y", "!}", "fi", ">z"],
            ),
            ("echo \"{\\\"a\\\":1}\" {} 'x$1'", vec!["!echo", "{\"a\":1}", "{}", "x$1"]),
            ("cat $PLAN_FILES/a $?", vec!["!cat", "\u{1}/a", "\0"]),
        ] {
            assert_eq!(split(text), Ok(wanted.into_iter().map(str::to_owned).collect()), "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_can_tell_is_said() {
        for (text, wanted) in [
            ("cat {in,in}.txt", "`{`"),
            ("cat [ab].txt", "`[`"),
            ("cat ~/x", "`~`"),
            ("cat $(ls)", "`$(…)`"),
            ("cat `ls`", "`…` in backquotes"),
            ("cat $HOME/x", "`$HOME`"),
            ("cat ${NAME%x}", "`${NAME%x}`"),
            ("NAME=in; cat $NAME", "`$NAME`"),
            ("cat $1", "`$1`"),
            ("cat <<E\nx\nE", "a here-document"),
            ("cat 'x", "a quote that does not end"),
        ] {
            assert_eq!(split(text), Err(wanted.to_owned()), "{text}");
        }
    }
}
