//! The git that a recovery found outside the search path, put in the place of `git`.

use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_core::ports::{Cancel, Services, Spawn, SpawnRequest, SpawnResult, StepContext};

/// Note that the recovery of a missing tool leaves: where git is.
const NOTE: &str = "process.tool.git";

struct Found {
    inner: Arc<dyn Spawn>,
    program: String,
}

#[async_trait]
impl Spawn for Found {
    async fn run(&self, mut request: SpawnRequest, cancel: &dyn Cancel) -> SpawnResult {
        if let Some(first) = request.argv.first_mut().filter(|a| *a == "git") {
            first.clone_from(&self.program);
        }
        self.inner.run(request, cancel).await
    }
}

/// Services whose `git` is the one that was found for this step, if one had to be looked for.
#[must_use]
pub(crate) fn with_found_git(context: &StepContext, services: &Services) -> Services {
    let mut services = services.clone();
    if let Some(program) = context.notes.get(NOTE) {
        let inner = Arc::clone(&services.spawn);
        services.spawn = Arc::new(Found { inner, program: program.clone() });
    }
    services
}
