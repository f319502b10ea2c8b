//! Probes that prove a cure of ENV and SC, and conditions that are watched while a person acts.
//! Each is other code than the action, reads fresh state, and answers pass, fail or
//! could-not-run.

/// ENV-1: a fresh start of the recorded path prints 18 or more. Also watched.
pub const NODE_USABLE: &str = "node-usable";
/// ENV-2: a fresh start of the recorded path prints 3.9 or more. Also watched.
pub const PYTHON_USABLE: &str = "python-usable";
/// ENV-3: the browser prints a version and starts on an empty profile. Also watched.
pub const CHROME_USABLE: &str = "chrome-usable";
/// ENV-4: the tool prints a version and checks the bundled sample board. Also watched.
pub const KICAD_USABLE: &str = "kicad-usable";
/// ENV-5: version probe plus one trivial answer that fits its schema. Also watched.
pub const ASSISTANT_USABLE: &str = "assistant-usable";
/// ENV-6: the recipe's self-test passes on this system.
pub const RECIPE_SELF_TEST: &str = "recipe-self-test";
/// ENV-8: a fresh start of the tool prints a version in range. Also watched.
pub const TOOL_USABLE: &str = "tool-usable";
/// ENV-9: lock list equals installed list, read by a fresh process.
pub const LOCK_EQUALS_INSTALLED: &str = "lock-equals-installed";
/// SC-2: the module imports, or the program starts, in a fresh process.
pub const DEPENDENCY_LOADS: &str = "dependency-loads";
/// SC-8: the multiset of objects equals the plan.
pub const OBJECTS_EQUAL_PLAN: &str = "objects-equal-plan";

/// Every probe, for the tests.
pub const ALL: &[&str] = &[
    NODE_USABLE,
    PYTHON_USABLE,
    CHROME_USABLE,
    KICAD_USABLE,
    ASSISTANT_USABLE,
    RECIPE_SELF_TEST,
    TOOL_USABLE,
    LOCK_EQUALS_INSTALLED,
    DEPENDENCY_LOADS,
    OBJECTS_EQUAL_PLAN,
];
