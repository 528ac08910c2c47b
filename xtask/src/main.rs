//! `cargo xtask`: what maintaining the repository needs. `docs` renders the generated pages from the
//! tables of the library, `generate` prints plans of any size for measurements, `bare`
//! is what they are measured by.

mod bare;
mod docs;
mod generate;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask docs [--check]           write docs/*.md from the tables; --check only compares
       cargo xtask generate SHAPE TASKS     print a plan: wide, chain, star, layers or dense
       cargo xtask bare TASKS JOBS WORK DIRECTORY
                                            start `true` so often; WORK for each: microseconds, or owed";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["docs"] => docs::run(docs::Mode::Write),
        ["docs", "--check"] => docs::run(docs::Mode::Check),
        ["generate", shape, tasks] => generate::run(shape, tasks),
        ["bare", tasks, jobs, work, directory] => bare::run(tasks, jobs, work, directory),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
