//! Results for people: tables, plots, the report page, documents.

pub(crate) mod history;
pub(crate) mod html;
pub(crate) mod machines;
pub(crate) mod page;
pub(crate) mod pictures;
pub(crate) mod plots;
pub(crate) mod reproduce;
pub(crate) mod scaling;
pub(crate) mod splice;
pub(crate) mod tables;
