//! What must not compile: a verifier called past its runner, and an error turned into a pass (EXECUTION §9).
//!
//! `TRYBUILD=overwrite cargo test --test compile_fail` accepts what the compiler says now.

#[test]
fn there_is_no_way_past_the_runner() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
