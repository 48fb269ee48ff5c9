//! What tests of a cluster and the measurement share.

#![allow(dead_code, unreachable_pub)]

pub mod client;
pub mod cluster;
pub mod data;
pub mod links;
pub mod queries;
