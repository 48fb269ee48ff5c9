//! Tests of the claims in the documentation of the textbook quotient filter.

mod definition;
mod examples;
mod limits;
mod model;
mod rates;
mod rebuild;
