//! The instruction sets that this machine has, one a line, and which one filters will use.
//!
//! ```sh
//! cargo run -p trommel --example instruction_sets
//! ```

use std::process::ExitCode;
use trommel::Isa;

fn main() -> ExitCode {
    for isa in Isa::available() {
        println!("{isa}");
    }
    // The variable TROMMEL_ISA may name one that there is not.
    match Isa::active() {
        Ok(active) => {
            eprintln!("in use: {active}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
