//! Every rule about resolved plans, in the order in which they are asked.
//!
//! A rule is a row: a code, an example on either side of it, and a function. One file, one rule.

mod always_in_main;
mod budget_does_not_fit;
mod budget_reserve;
mod crosses_stages;
mod cycle;
mod done_when;
mod done_when_files;
mod files_of_instances;
mod files_overlap;
mod gate_default;
mod isolation_needs_git;
mod join_no_dependencies;
mod join_refused;
mod keyed;
mod machine_gate_avoided;
mod machine_gate_without_target;
mod machine_into_start;
mod machine_no_exit;
mod machine_no_start;
mod machine_no_such_target;
mod machine_out_of_exit;
mod machine_several_starts;
mod machine_several_unconditional;
mod machine_unknown_harness;
mod machine_unreachable;
mod otherwise_of_nothing;
mod over_key;
mod over_not_a_dependency;
mod over_not_a_list;
mod over_undeclared_field;
mod pipe_under_sh;
mod report_result;
mod report_template;
mod report_to;
mod required_behind_advisory;
mod result_in_epilogue;
mod revise_between;
mod revise_circle;
mod revise_fans_out;
mod revise_gate;
mod revise_max_rounds;
mod revise_not_upstream;
mod revise_past_reviewer;
mod revise_reviewer;
mod revise_two_bodies;
mod route_answers;
mod route_labels;
mod route_source;
mod route_uncovered;
mod score_missing;
mod script_not_frozen;
mod self_dependency;
mod sessions;
mod settled_over_required;
mod top_k_no_candidates;
mod unused;
mod verify_no_attempt;
mod when_never_holds;
mod when_never_runs;
mod when_not_upstream;
mod when_undeclared_field;

use super::rule::Rule;

/// The rules. `unused` is the last, since it speaks only where nothing is wrong.
pub static RULES: &[&Rule] = &[
    &self_dependency::RULE,
    &cycle::RULE,
    &crosses_stages::RULE,
    &always_in_main::RULE,
    &result_in_epilogue::RULE,
    &join_no_dependencies::RULE,
    &join_refused::RULE,
    &required_behind_advisory::RULE,
    &settled_over_required::RULE,
    &when_not_upstream::RULE,
    &when_undeclared_field::RULE,
    &when_never_holds::RULE,
    &when_never_runs::RULE,
    &otherwise_of_nothing::RULE,
    &route_answers::RULE,
    &route_source::RULE,
    &route_labels::RULE,
    &route_uncovered::RULE,
    &gate_default::RULE,
    &over_not_a_dependency::RULE,
    &over_undeclared_field::RULE,
    &over_not_a_list::RULE,
    &over_key::RULE,
    &keyed::RULE,
    &score_missing::RULE,
    &top_k_no_candidates::RULE,
    &report_result::RULE,
    &report_template::RULE,
    &report_to::RULE,
    &files_overlap::RULE,
    &files_of_instances::RULE,
    &done_when::RULE,
    &done_when_files::RULE,
    &isolation_needs_git::RULE,
    &sessions::RULE,
    &revise_max_rounds::RULE,
    &revise_not_upstream::RULE,
    &revise_reviewer::RULE,
    &revise_gate::RULE,
    &revise_two_bodies::RULE,
    &revise_fans_out::RULE,
    &revise_between::RULE,
    &revise_circle::RULE,
    &revise_past_reviewer::RULE,
    &machine_no_start::RULE,
    &machine_several_starts::RULE,
    &machine_no_exit::RULE,
    &machine_unreachable::RULE,
    &machine_into_start::RULE,
    &machine_out_of_exit::RULE,
    &machine_no_such_target::RULE,
    &machine_gate_without_target::RULE,
    &machine_gate_avoided::RULE,
    &machine_several_unconditional::RULE,
    &machine_unknown_harness::RULE,
    &budget_reserve::RULE,
    &budget_does_not_fit::RULE,
    &pipe_under_sh::RULE,
    &script_not_frozen::RULE,
    &verify_no_attempt::RULE,
    &unused::RULE,
];
