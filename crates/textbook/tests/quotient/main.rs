//! What the quotient filter of the textbook claims.

mod definition;
mod examples;
mod limits;
mod model;
mod rates;
mod rebuild;
