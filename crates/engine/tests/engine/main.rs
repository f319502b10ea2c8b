//! The engine against a simulated world. Time passes only when somebody waits for it.

mod asks;
mod bench;
mod faulty;
mod flow;
mod kills;
mod ladders;
mod rows;
mod stops;
mod world;
