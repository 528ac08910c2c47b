//! Plans of any size, for measurements: each shape stresses another part of compiler and scheduler.

use std::fmt::Write as _;
use std::io::Write as _;

/// Prints a plan of `tasks` tasks in the given shape to standard output.
///
/// # Errors
/// If the shape is unknown, the number cannot be read, or nothing takes the output.
pub fn run(shape: &str, tasks: &str) -> Result<(), String> {
    let count: usize =
        tasks.replace('_', "").parse().map_err(|_| format!("`{tasks}` is no number of tasks"))?;
    let edges: fn(usize, usize) -> Vec<usize> = match shape {
        "wide" => |_, _| Vec::new(),
        "chain" => |at, _| at.checked_sub(1).into_iter().collect(),
        "star" => |at, count| match at {
            0 => Vec::new(),
            last if last + 1 == count => (1..last).collect(),
            _ => vec![0],
        },
        "layers" => |at, _| layer(at, 100, 3),
        "dense" => |at, _| layer(at, 100, 100),
        _ => return Err(format!("there is no shape `{shape}`; take wide, chain, star, layers or dense")),
    };
    let mut text = String::from("plan \"generated\" {\n    shell = \"sh\"\n}\n");
    for at in 0..count {
        task(&mut text, at, &edges(at, count));
    }
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}

/// Layers of `width` tasks, each waiting for `fan` neighbours in the layer before.
fn layer(at: usize, width: usize, fan: usize) -> Vec<usize> {
    let Some(above) = (at / width).checked_sub(1) else {
        return Vec::new();
    };
    (0..fan).map(|offset| above * width + (at + offset) % width).collect()
}

fn task(text: &mut String, at: usize, edges: &[usize]) {
    let names: Vec<String> = edges.iter().map(|to| format!("t{to}")).collect();
    let _ = writeln!(text, "\ncommand t{at} {{");
    if !names.is_empty() {
        let _ = writeln!(text, "    depends_on = [{}]", names.join(", "));
    }
    text.push_str("    run        = \":\"\n    timeout    = 5m\n}\n");
}
