//! Temporary: one feature set for every way of building.
