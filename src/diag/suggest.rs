//! The nearest name, for "did you mean".

/// The candidate that `name` was probably meant to be, if one is near enough.
///
/// Near is: equal but for case, `-` and `_`; or at most a third of the letters away, rounded up where both
/// begin alike (a swap of neighbours counts once); or one begins with the other. Of several, the nearest,
/// then the first.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let wanted = plain(name);
    let length = wanted.chars().count();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == name {
            continue;
        }
        let other = plain(candidate);
        let longer = length.max(other.chars().count());
        let alike = wanted.chars().next() == other.chars().next();
        let limit = if alike { longer.div_ceil(3) } else { longer / 3 }.max(1);
        // The lengths alone can rule a candidate out, which matters in a file of ten thousand names.
        if length.abs_diff(other.chars().count()) > limit && !begins(&wanted, &other) {
            continue;
        }
        let mut distance = strsim::damerau_levenshtein(&wanted, &other);
        if begins(&wanted, &other) {
            distance = distance.min(limit);
        }
        let near = distance <= limit && (distance < longer || distance == 0);
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Whether one of the two is the start of the other, and long enough to mean something.
fn begins(one: &str, other: &str) -> bool {
    one.len().min(other.len()) >= 3 && (one.starts_with(other) || other.starts_with(one))
}

/// ``did you mean `near`?`` for the nearest candidate.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["depends_on", "emits", "emits_files", "timeout", "run", "k", "budget"];
        for (written, meant) in [
            ("depend_on", Some("depends_on")),
            ("dependsOn", Some("depends_on")),
            ("depends-on", Some("depends_on")),
            ("timeuot", Some("timeout")),
            ("emit", Some("emits")),
            ("budgets", Some("budget")),
            ("RUN", Some("run")),
            ("rnu", Some("run")),
            ("bugdte", Some("budget")),
            ("whatever", None),
            ("x", None),
            ("maximum", None),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
    }
}
