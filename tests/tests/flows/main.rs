//! Whole flows of steps that take milliseconds: order, several boards, stops, asks, two processes.

mod asks;
mod boards;
mod order;
mod stops;
mod streams;
mod two_processes;
