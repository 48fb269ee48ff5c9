//! Code for both the tests of a cluster and the measurements.

#![allow(dead_code, unreachable_pub)]

pub mod client;
pub mod cluster;
pub mod data;
pub mod links;
pub mod queries;
