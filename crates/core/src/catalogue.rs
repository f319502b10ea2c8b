//! The folded table of all rows, and the diagnosis that picks one.
//!
//! Candidates are ordered by trust of their leading signal, then by how much they ask for, then
//! by id. The order in which crates register their rows never matters.

use std::collections::BTreeMap;

use crate::evidence::{Evidence, Matcher, Source};
use crate::fingerprint::{Fingerprint, fingerprint};
use crate::ids::{ClassId, Digest, IdError};
use crate::policy::EXHAUSTED_CLASS;
use crate::row::{Autonomy, Resume, Row, RungKind};

/// Class under which a failure without a fitting rule is filed.
pub const UNKNOWN_CLASS: &str = "SC-1";

/// Most rows a catalogue may hold.
pub const ROWS_MAX: usize = 1000;

/// Why a set of rows is no catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// A row's id is not of the right form.
    #[error(transparent)]
    Id(#[from] IdError),
    /// Two rows have one id.
    #[error("row {0} is registered twice")]
    Twice(String),
    /// A row lacks something that the type system cannot ask for.
    #[error("row {id} {fault}")]
    Row {
        /// The row.
        id: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The row that takes unknown failures is not there.
    #[error("no row {UNKNOWN_CLASS}, which takes failures that no rule fits")]
    NoUnknown,
    /// More rows than [`ROWS_MAX`].
    #[error("{0} rows, at most {ROWS_MAX} are allowed")]
    TooMany(usize),
}

/// A matcher that a person wrote in `knowledge/rules.toml`. It can choose among known classes
/// and give a hint; it can't add actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRule {
    /// Name of the rule, for the record.
    pub name: String,
    /// The class that it points to.
    pub class: ClassId,
    /// Words of which one must stand in the output (case does not matter); empty = not asked.
    pub words: Vec<String>,
    /// Exit statuses of which one must be seen; empty = not asked.
    pub exit: Vec<i32>,
    /// HTTP statuses of which one must be seen; empty = not asked.
    pub http: Vec<u16>,
    /// Tools or layers to which it is bound; empty = any.
    pub tools: Vec<String>,
    /// A hint for the person or agent, shown with the failure.
    pub hint: String,
    /// The one rung of the class's ladder that this rule allows first, if any.
    pub allow: Option<String>,
}

impl UserRule {
    fn lead(&self) -> Option<(Source, u32)> {
        let mut parts: Vec<Source> = Vec::new();
        if !self.exit.is_empty() {
            parts.push(Source::Exit);
        }
        if !self.http.is_empty() {
            parts.push(Source::Http);
        }
        if !self.words.is_empty() {
            parts.push(Source::Text);
        }
        let lead = parts.iter().min().copied()?;
        let bound = u32::from(!self.tools.is_empty());
        Some((lead, u32::try_from(parts.len()).unwrap_or(u32::MAX).saturating_mul(2) + bound))
    }

    fn fits(&self, evidence: &Evidence) -> bool {
        use crate::evidence::{codes, program_name};
        let tool = program_name(&evidence.tool);
        let family = evidence.layer.split('/').next().unwrap_or("");
        let bound = self.tools.is_empty()
            || self.tools.iter().any(|t| t == tool || *t == evidence.layer || t == family);
        let number = |source: Source, wanted: &dyn Fn(i64) -> bool| {
            evidence.signals.iter().any(|s| {
                s.source == source && s.code == codes::STATUS && s.number.is_some_and(wanted)
            })
        };
        let words = evidence.words().to_lowercase();
        self.lead().is_some()
            && bound
            && (self.exit.is_empty()
                || number(Source::Exit, &|n| self.exit.iter().any(|e| i64::from(*e) == n)))
            && (self.http.is_empty()
                || number(Source::Http, &|n| self.http.iter().any(|h| i64::from(*h) == n)))
            && (self.words.is_empty()
                || self.words.iter().any(|w| words.contains(&w.to_lowercase())))
    }
}

/// What a failure was taken for, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The class; [`UNKNOWN_CLASS`] when no rule fits.
    pub class: ClassId,
    /// False when no rule fits: then nothing is guessed.
    pub known: bool,
    /// Confidence in percent; 0 when unknown.
    pub confidence: u8,
    /// The rule that matched, in words: "KI-6 #2 (file: kicad.pro_missing)" or the user's rule.
    pub rule: String,
    /// Leading source of the match.
    pub trust: Source,
    /// Identity of the failure.
    pub fingerprint: Fingerprint,
    /// Other classes that fit as well, best first.
    pub also: Vec<ClassId>,
    /// Hint of a user's rule.
    pub hint: String,
    /// Rung that a user's rule puts first.
    pub allow: Option<String>,
    /// Identity of what is behind it, for a known row whose typed signals name it (a file, a
    /// program): failures of one row and cause are mended by one act, whichever step saw them.
    pub cause: Option<Digest>,
}

/// All rows, by id.
#[derive(Debug, Clone)]
pub struct Catalogue {
    rows: BTreeMap<String, Row>,
    user: Vec<UserRule>,
}

struct Candidate {
    trust: Source,
    specificity: u32,
    // A person's rule wins over a built-in one that is otherwise its equal.
    built_in: bool,
    id: ClassId,
    confidence: u8,
    rule: String,
    hint: String,
    allow: Option<String>,
    cause: Option<Digest>,
}

impl Catalogue {
    /// Folds the rows of all crates into one table.
    ///
    /// # Errors
    /// [`CatalogueError`] names the row and the fault.
    pub fn fold(
        rows: impl IntoIterator<Item = Row>,
        user: Vec<UserRule>,
    ) -> Result<Catalogue, CatalogueError> {
        let mut table = BTreeMap::new();
        for row in rows {
            let id = ClassId::new(row.id)?;
            check_row(&row)?;
            if table.insert(id.to_string(), row).is_some() {
                return Err(CatalogueError::Twice(id.to_string()));
            }
        }
        if table.len() > ROWS_MAX {
            return Err(CatalogueError::TooMany(table.len()));
        }
        if !table.contains_key(UNKNOWN_CLASS) {
            return Err(CatalogueError::NoUnknown);
        }
        for rule in &user {
            if !table.contains_key(rule.class.as_str()) || rule.lead().is_none() {
                return Err(CatalogueError::Row {
                    id: rule.class.to_string(),
                    fault: "is named by a rule of knowledge/rules.toml, but the class does not exist or the rule has no matcher",
                });
            }
        }
        Ok(Catalogue { rows: table, user })
    }

    /// The row of a class.
    #[must_use]
    pub fn row(&self, class: &ClassId) -> Option<&Row> {
        self.rows.get(class.as_str())
    }

    /// All rows, by family and number.
    #[must_use]
    pub fn rows(&self) -> Vec<&Row> {
        let mut rows: Vec<(ClassId, &Row)> = self
            .rows
            .iter()
            .filter_map(|(id, row)| ClassId::new(id.clone()).ok().map(|id| (id, row)))
            .collect();
        rows.sort_by(|a, b| a.0.sort_key().cmp(&b.0.sort_key()));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Digest of everything in the table that `decide` depends on, for the policy digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(format!("{:?}\n{:?}", self.rows, self.user).as_bytes())
    }

    /// Takes the evidence for the best fitting class; for [`UNKNOWN_CLASS`] when none fits.
    #[must_use]
    pub fn diagnose(&self, evidence: &Evidence) -> Diagnosis {
        let mut candidates = self.candidates(evidence);
        candidates.sort_by(|a, b| {
            (a.trust, std::cmp::Reverse(a.specificity), a.built_in, a.id.sort_key()).cmp(&(
                b.trust,
                std::cmp::Reverse(b.specificity),
                b.built_in,
                b.id.sort_key(),
            ))
        });
        let mut also: Vec<ClassId> = Vec::new();
        for c in candidates.iter().skip(1) {
            if !also.contains(&c.id) && candidates.first().is_some_and(|f| f.id != c.id) {
                also.push(c.id.clone());
            }
        }
        match candidates.into_iter().next() {
            Some(best) => Diagnosis {
                fingerprint: fingerprint(&best.id, evidence),
                class: best.id,
                known: true,
                confidence: best.confidence,
                rule: best.rule,
                trust: best.trust,
                also,
                hint: best.hint,
                allow: best.allow,
                cause: best.cause,
            },
            None => self.unknown(evidence),
        }
    }

    fn unknown(&self, evidence: &Evidence) -> Diagnosis {
        let class = ClassId::new(UNKNOWN_CLASS)
            .unwrap_or_else(|_| unreachable!("a constant of the right form; `fold` asked for it"));
        Diagnosis {
            fingerprint: fingerprint(&class, evidence),
            class,
            known: false,
            confidence: 0,
            rule: "no rule fits".to_owned(),
            trust: Source::Own,
            also: Vec::new(),
            hint: String::new(),
            allow: None,
            cause: None,
        }
    }

    fn candidates(&self, evidence: &Evidence) -> Vec<Candidate> {
        let mut found = Vec::new();
        for row in self.rows.values() {
            let Ok(id) = ClassId::new(row.id) else { continue };
            for (at, matcher) in row.matchers.iter().enumerate() {
                if matcher.fits(evidence) {
                    let parts: Vec<String> = matcher
                        .all
                        .iter()
                        .map(|p| match p.code {
                            "" => p.source.word().to_owned(),
                            code => format!("{}: {code}", p.source.word()),
                        })
                        .collect();
                    found.push(Candidate {
                        trust: matcher.trust(),
                        specificity: matcher.specificity(),
                        built_in: true,
                        id: id.clone(),
                        confidence: matcher.confidence,
                        rule: format!("{} signal {} ({})", row.id, at + 1, parts.join(", ")),
                        hint: String::new(),
                        allow: None,
                        cause: cause(row, matcher, evidence),
                    });
                }
            }
        }
        for rule in self.user.iter().filter(|r| r.fits(evidence)) {
            if let Some((trust, specificity)) = rule.lead() {
                found.push(Candidate {
                    trust,
                    specificity,
                    built_in: false,
                    id: rule.class.clone(),
                    confidence: 80,
                    rule: format!("rules.toml '{}'", rule.name),
                    hint: rule.hint.clone(),
                    allow: rule.allow.clone(),
                    cause: None,
                });
            }
        }
        found
    }
}

/// What is behind a match: the names in the typed signals that it rests on. None where no signal
/// names anything, or where the row asks about the step itself.
fn cause(row: &Row, matcher: &Matcher, evidence: &Evidence) -> Option<Digest> {
    if row.texts.ask.contains("{step}") {
        return None;
    }
    let mut names: Vec<(&str, &str)> = evidence
        .signals
        .iter()
        .filter(|s| s.source != Source::Text && matcher.all.iter().any(|p| p.fits(s)))
        .map(|s| (s.code.as_str(), s.text.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    let named = names.iter().any(|(_, name)| !name.is_empty());
    let variant = evidence.slots.get("variant");
    named.then(|| Digest::of(format!("{} {variant:?} {names:?}", row.id).as_bytes()))
}

fn check_row(row: &Row) -> Result<(), CatalogueError> {
    let fault = |fault| Err(CatalogueError::Row { id: row.id.to_owned(), fault });
    if row.matchers.is_empty() || row.matchers.iter().any(|m| m.all.is_empty()) {
        return fault("has no signals, or a matcher without patterns");
    }
    if row.ladder.is_empty() {
        return fault("has no ladder");
    }
    if row.recheck.what.is_empty() || row.recipe.how.is_empty() || row.title.is_empty() {
        return fault("lacks its recheck, recipe or title");
    }
    if row.texts.what.is_empty() || row.texts.healed.is_empty() || row.texts.tool.is_empty() {
        return fault("lacks words for the person");
    }
    if row.texts.ask.is_empty() != matches!(row.texts.resume, Resume::Nothing) {
        return fault("must ask for something exactly when its resume condition is not 'nothing'");
    }
    if row.ladder.iter().filter(|r| r.autonomy == Autonomy::GoAhead).count() > 1 {
        return fault("has two rungs that need a go-ahead: one yes must not stand for two actions");
    }
    if row.id == EXHAUSTED_CLASS && row.ladder.iter().any(|r| r.kind != RungKind::Ask) {
        return fault("stands at the end of every ladder and can do nothing but ask");
    }
    for (at, rung) in row.ladder.iter().enumerate() {
        let last = at + 1 == row.ladder.len();
        if matches!(rung.kind, RungKind::Ask | RungKind::GoOn) != last && !last {
            return fault("asks or goes on before the end of its ladder");
        }
        if rung.said.is_empty() && rung.kind != RungKind::Ask {
            return fault("has a rung without words");
        }
        if rung.times() == 0 {
            return fault("has a rung that runs no time");
        }
        if row.ladder.iter().filter(|r| r.id == rung.id).count() > 1 {
            return fault("has two rungs of one name");
        }
        let text_only = row.matchers.iter().all(|m| m.trust() == Source::Text);
        if text_only && rung.kind == RungKind::Act {
            return fault("acts on words alone");
        }
    }
    Ok(())
}
