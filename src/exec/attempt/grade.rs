//! Grades what an attempt did (EXECUTION §5): the exit first, the output second.
//!
//! Pure: what was collected goes in, a grade comes out. Unaware of files and of declared statuses.

use super::collect::Found;
use super::json::{self, Json, Object};
use crate::event::Grade;
use crate::exec::decimal::Decimal;
use crate::exec::note;
use crate::exec::ports::How;
use crate::exec::route;
use crate::ir::Usd;
use crate::ir::kind::{Direction, Evaluate, Kind};

/// The exit code that says that the infrastructure failed: `EX_TEMPFAIL`.
const TEMPORARY: i32 = 75;

/// How an attempt stands, on its way through the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Graded {
    /// The grade so far.
    pub grade: Grade,
    /// The first cause, or the attempt's own note.
    pub note: Option<String>,
    /// The result, or the reading that is kept.
    pub output: Option<Object>,
    /// Where there is no result: a clause that shows what there was instead.
    pub absent: Option<String>,
}

impl Graded {
    /// A failure for this reason that keeps its reading.
    pub(super) fn fail(self, note: String) -> Self {
        Self { grade: Grade::Fail, note: Some(note), ..self }
    }
}

/// Grades by exit and output. `detail` is what a failing process said last.
pub(super) fn grade(kind: &Kind, how: How, found: Found, detail: Option<&str>) -> Graded {
    let (object, absent, refused) = match found {
        Found::Object(object) => (Some(object), None, false),
        Found::Nothing => (None, Some("it printed nothing".to_owned()), false),
        Found::Other(clause) => (None, Some(clause), false),
        Found::Refused(clause) => (None, Some(clause), true),
    };
    let complaint = absent.as_ref().and_then(|clause| match owes_object(kind) {
        Some(kind) => Some(format!("{kind} needs a JSON object: {clause}")),
        None => refused.then(|| clause.clone()),
    });
    let (grade, reason) = match how {
        How::Code(0) => match complaint {
            None => (Grade::Pass, None),
            Some(complaint) => (Grade::Fail, Some(complaint)),
        },
        How::Code(TEMPORARY) | How::Lost => (Grade::Transport, Some(because(how, object.as_ref(), detail))),
        How::Code(_) | How::Signal(_) => (Grade::Fail, Some(because(how, object.as_ref(), detail))),
    };
    let graded = Graded { grade, note: reason, output: object, absent };
    match kind {
        Kind::Evaluate(evaluate) if graded.output.is_some() => measure(evaluate, graded),
        Kind::Evaluate(_)
        | Kind::Command(_)
        | Kind::Agent(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => graded,
    }
}

/// What a kind of task is called that has to have a result.
fn owes_object(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Evaluate(_) => Some("an evaluate"),
        Kind::Route(_) => Some("a route"),
        Kind::Agent(_) => Some("an agent"),
        Kind::Command(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => None,
    }
}

/// The exit, and the object's own note or else what was said last.
fn because(how: How, object: Option<&Object>, detail: Option<&str>) -> String {
    let said = object.and_then(own_note).or(detail);
    match said.map(|said| note::shown(said.trim(), 200)).filter(|said| !said.is_empty()) {
        Some(said) => format!("{}: {said}", how.words()),
        None => how.words(),
    }
}

/// The note that a result carries.
pub(super) fn own_note(object: &Object) -> Option<&str> {
    object.string("note").filter(|note| !note.trim().is_empty())
}

/// Holds an evaluate's object against its own `pass` and the threshold, and keeps it with `pass` normalised.
fn measure(evaluate: &Evaluate, graded: Graded) -> Graded {
    let Some(object) = &graded.output else { return graded };
    let verdict = own_pass(object).and_then(|own| {
        let reached = match (&evaluate.threshold, &evaluate.direction) {
            (Some(threshold), Some(direction)) => reaches(object, threshold.value, direction.value)?,
            _ => Ok(()),
        };
        Ok(match (own, reached) {
            (_, Err(missed)) => Err(missed),
            (Some(false), Ok(())) => Err("`pass` is false".to_owned()),
            (Some(true) | None, Ok(())) => Ok(()),
        })
    });
    let reason = match verdict {
        Ok(Ok(())) => None,
        Ok(Err(reason)) | Err(reason) => Some(reason),
    };
    let passes = graded.grade == Grade::Pass && reason.is_none();
    let own = own_note(object).map(|own| note::shown(own.trim(), 200));
    let output = Some(object.with("pass", Json::Boolean(passes)));
    match (graded.grade, reason) {
        (Grade::Pass, Some(reason)) => {
            let note = own.map_or_else(|| reason.clone(), |own| format!("{reason}: {own}"));
            Graded { grade: Grade::Fail, note: Some(note), output, absent: None }
        }
        (grade, _) => Graded { grade, note: graded.note, output, absent: None },
    }
}

/// The object's own `pass`; an error where it is no boolean.
fn own_pass(object: &Object) -> Result<Option<bool>, String> {
    match object.get("pass") {
        None => Ok(None),
        Some(Json::Boolean(pass)) => Ok(Some(*pass)),
        Some(other) => Err(format!("`pass` has to be a boolean, and is {}", other.describe())),
    }
}

/// Whether the score reaches the threshold: the reason why not inside, an error where there is no score.
fn reaches(object: &Object, threshold: f64, direction: Direction) -> Result<Result<(), String>, String> {
    let digits = match object.get("score") {
        Some(Json::Number(digits)) => digits,
        Some(other) => return Err(format!("`score` has to be a number, and is {}", other.describe())),
        None => return Err("the result lacks `score`, which the threshold is for".to_owned()),
    };
    let number = |text: &str| Decimal::parse(text).ok_or_else(|| format!("`score` is no number: {text}"));
    let order = number(digits)?.cmp(&number(&threshold.to_string())?);
    Ok(match direction {
        Direction::Higher if order.is_ge() => Ok(()),
        Direction::Lower if order.is_le() => Ok(()),
        Direction::Higher => Err(format!("`score` {digits} is under the threshold {threshold}")),
        Direction::Lower => Err(format!("`score` {digits} is over the threshold {threshold}")),
    })
}

/// Reads the labels that a route's command decided on; they are its output.
pub(super) fn answers(kind: &Kind, graded: Graded) -> Graded {
    let (Kind::Route(route), Grade::Pass | Grade::Partial, Some(object)) =
        (kind, graded.grade, &graded.output)
    else {
        return graded;
    };
    match route::decided(route, &object.raw()) {
        Ok(answers) => match json::parse_object(answers.get()) {
            Ok(output) => Graded { output, ..graded },
            Err(refusal) => {
                let note = refusal.clause().to_owned();
                graded.fail(note)
            }
        },
        Err(note) => graded.fail(note.into()),
    }
}

/// What an attempt says that it spent; a clause where that is no amount.
pub(super) fn cost(object: Option<&Object>) -> Result<Usd, String> {
    match object.and_then(|object| object.get("cost_usd")) {
        None | Some(Json::Null) => Ok(Usd::ZERO),
        Some(Json::Number(digits)) => Usd::parse(digits).ok_or_else(|| {
            format!("`cost_usd` is no amount that can be counted: {}", note::shown(digits, 40))
        }),
        Some(other) => Err(format!("`cost_usd` has to be a number, and is {}", other.describe())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::attempt::json::parse_object;
    use crate::ir::kind::Run;
    use crate::source::Spanned;

    fn command() -> Kind {
        Kind::Command(Spanned::new(Run::Shell(":".into()), Default::default()))
    }

    fn evaluate(bound: Option<(f64, Direction)>) -> Kind {
        let at = |value| Spanned::new(value, Default::default());
        Kind::Evaluate(Evaluate {
            run: Spanned::new(Run::Shell(":".into()), Default::default()),
            threshold: bound.map(|(bound, _)| at(bound)),
            direction: bound.map(|(_, direction)| Spanned::new(direction, Default::default())),
        })
    }

    fn shown(kind: &Kind, how: How, printed: &str, detail: Option<&str>) -> String {
        let found = match parse_object(printed) {
            Ok(Some(object)) => Found::Object(object),
            _ if printed.is_empty() => Found::Nothing,
            _ => Found::Other(format!("the last line is no JSON object: `{printed}`")),
        };
        let graded = grade(kind, how, found, detail);
        let output = graded.output.map_or_else(|| "-".to_owned(), |object| object.text().to_owned());
        format!("{:?} {} {output}", graded.grade, graded.note.unwrap_or_else(|| "-".to_owned()))
    }

    #[test]
    fn the_exit_comes_first() {
        let command = command();
        for (how, printed, detail, expected) in [
            (How::Code(0), "", None, "Pass - -"),
            (How::Code(0), "oops", None, "Pass - -"),
            (How::Code(0), r#"{"pass":false}"#, None, r#"Pass - {"pass":false}"#),
            (How::Code(3), "", None, "Fail exit 3 -"),
            (How::Code(3), "", Some("doomed"), "Fail exit 3: doomed -"),
            (How::Code(3), r#"{"note":"why"}"#, Some("doomed"), r#"Fail exit 3: why {"note":"why"}"#),
            (How::Code(75), r#"{"a":1}"#, None, r#"Transport exit 75 {"a":1}"#),
            (How::Signal(9), "", None, "Fail ended by SIGKILL -"),
        ] {
            assert_eq!(shown(&command, how, printed, detail), expected);
        }
        let refused = grade(&command, How::Code(0), Found::Refused("why".to_owned()), None);
        assert_eq!((refused.grade, refused.note.as_deref()), (Grade::Fail, Some("why")));
    }

    #[test]
    fn an_evaluate_is_held_against_its_threshold() {
        let high = evaluate(Some((0.9, Direction::Higher)));
        let low = evaluate(Some((0.9, Direction::Lower)));
        let none = evaluate(None);
        for (kind, printed, expected) in [
            (&high, r#"{"score":0.9}"#, r#"Pass - {"score":0.9,"pass":true}"#),
            (
                &high,
                r#"{"score":0.5,"pass":true}"#,
                r#"Fail `score` 0.5 is under the threshold 0.9 {"score":0.5,"pass":false}"#,
            ),
            (&high, r#"{"score":1,"pass":false}"#, r#"Fail `pass` is false {"score":1,"pass":false}"#),
            (
                &high,
                r#"{"score":1,"pass":"yes"}"#,
                r#"Fail `pass` has to be a boolean, and is the string "yes" {"score":1,"pass":false}"#,
            ),
            (
                &high,
                r#"{"pass":true}"#,
                r#"Fail the result lacks `score`, which the threshold is for {"pass":false}"#,
            ),
            (
                &high,
                r#"{"score":"1"}"#,
                r#"Fail `score` has to be a number, and is the string "1" {"score":"1","pass":false}"#,
            ),
            (&high, "[1]", "Fail an evaluate needs a JSON object: the last line is no JSON object: `[1]` -"),
            (&low, r#"{"score":0.9}"#, r#"Pass - {"score":0.9,"pass":true}"#),
            (
                &low,
                r#"{"score":0.91}"#,
                r#"Fail `score` 0.91 is over the threshold 0.9 {"score":0.91,"pass":false}"#,
            ),
            // Digit for digit: as a floating-point number, this score is the threshold.
            (
                &low,
                r#"{"score":0.90000000000000000001}"#,
                r#"Fail `score` 0.90000000000000000001 is over the threshold 0.9 {"score":0.90000000000000000001,"pass":false}"#,
            ),
            (&none, "{}", r#"Pass - {"pass":true}"#),
            (
                &none,
                r#"{"pass":false,"note":"no"}"#,
                r#"Fail `pass` is false: no {"pass":false,"note":"no"}"#,
            ),
            (&none, "", "Fail an evaluate needs a JSON object: it printed nothing -"),
        ] {
            assert_eq!(shown(kind, How::Code(0), printed, None), expected);
        }
        assert_eq!(
            shown(&high, How::Code(1), r#"{"score":1}"#, None),
            r#"Fail exit 1 {"score":1,"pass":false}"#
        );
    }

    #[test]
    fn costs() {
        let cost_of = |text: &str| cost(parse_object(text).unwrap().as_ref());
        assert_eq!(cost_of(r#"{"cost_usd":0.1}"#), Ok(Usd::parse("0.1").unwrap()));
        assert_eq!(cost_of("{}"), Ok(Usd::ZERO));
        assert!(cost_of(r#"{"cost_usd":-1}"#).is_err());
        assert!(cost_of(r#"{"cost_usd":"1"}"#).is_err());
    }
}
