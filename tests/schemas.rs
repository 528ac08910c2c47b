//! The published schemas take what is written, and nothing else. The logs and status documents of other
//! tests' runs are held to them too, where those tests read them.

#[path = "common/schemas.rs"]
mod schemas;

use plan::report::{example, schema, status};
use serde_json::Value;

#[test]
fn events_keep_their_schema() {
    let open = jsonschema::validator_for(&schema::event()).expect("a schema");
    for event in example::events() {
        let line: Value = serde_json::from_str(&format!("{{{}}}", event.fields())).expect("JSON");
        schemas::event(&line).unwrap();
        let mut more = line.clone();
        more["more"] = true.into();
        assert!(schemas::event(&more).is_err(), "{more}");
        assert!(open.is_valid(&more), "a reader takes no notice of fields that it does not know: {more}");
        // A field that another kind has does not stand for one that this kind lacks.
        let mut other = line;
        other["kind"] = if event.body.kind() == "run_ended" { "alive" } else { "run_ended" }.into();
        assert!(schemas::event(&other).is_err(), "{other}");
    }
}

#[test]
fn the_status_document_keeps_its_schema() {
    for held in [false, true] {
        let document = status::document(&example::history(), held, &Clone::clone);
        let mut document = serde_json::to_value(document).expect("JSON");
        schemas::status(&document).unwrap();
        document["tasks"]["scan"]["status"] = "passed".into();
        assert!(schemas::status(&document).is_err());
    }
}
