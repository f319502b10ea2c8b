//! Codes of the signals that this subsystem makes, with the source that may report each.
//!
//! Codes that every subsystem shares (`status`, `deadline_passed` ...) stand in
//! [`pcbflow_core::evidence::codes`]. A code means one thing and has one source; [`ALL`] pairs
//! the two, and a test holds the rows to it.

use pcbflow_core::evidence::Source;

macro_rules! codes {
    ($($(#[$doc:meta])* $source:ident $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*

        /// Every code of this crate with the source that reports it.
        pub const ALL: &[(Source, &str)] = &[$((Source::$source, $name)),*];
    };
}

codes! {
    // Facts that the runner recorded itself.

    /// The call came after a long pause or long use of one login; the number is milliseconds.
    Own IDLE_BEFORE = "eda.idle_before";
    /// A login was proven earlier in this run.
    Own SIGNED_IN_EARLIER = "eda.signed_in_earlier";
    /// This is the first page that the profile loads in this run.
    Own FIRST_LOAD = "eda.first_load";
    /// Part searches of this run were answered before; the number says how many.
    Own SEARCHES_ANSWERED = "eda.searches_answered";
    /// Other signed-in calls of the same window were answered.
    Own OTHER_CALLS_FINE = "eda.other_calls_fine";
    /// Every call of this run was refused, from the first one on.
    Own REFUSED_FROM_START = "eda.refused_from_start";
    /// A throttle was seen moments ago and its pause is not over.
    Own THROTTLE_SEEN = "eda.throttle_seen";
    /// The editor is still within its normal start of 30 s.
    Own STARTING = "eda.starting";
    /// The driven tab lies in the background, where the browser slows it down.
    Own TAB_IN_BACKGROUND = "eda.tab_in_background";
    /// `save` gave no answer by the deadline.
    Own SAVE_UNANSWERED = "eda.save_unanswered";
    /// `done` gave no answer by the deadline.
    Own DONE_UNANSWERED = "eda.done_unanswered";
    /// The read shared its evaluate with the write that it judges.
    Own READ_IN_WRITE = "eda.read_in_write";
    /// The read came before the settle time after the last write.
    Own READ_TOO_EARLY = "eda.read_too_early";
    /// Two fresh reads agree with each other.
    Own FRESH_READS_AGREE = "eda.fresh_reads_agree";
    /// A tab of our own was closed by a recovery less than two seconds ago.
    Own OWN_TAB_JUST_CLOSED = "eda.own_tab_just_closed";
    /// The browser was started and its port has not been proven yet.
    Own BROWSER_STARTING = "browser.starting";
    /// The browser had answered on its port in this run.
    Own BROWSER_WAS_UP = "browser.was_up";
    /// No "listening" line on the child's error stream; the number is the milliseconds waited.
    Own NO_LISTENING_LINE = "browser.no_listening_line";
    /// The child still runs and no port answers: a dialog waits; the number is milliseconds.
    Own NEITHER_EXIT_NOR_PORT = "browser.neither_exit_nor_port";
    /// The clock jumped: the computer slept during the call.
    Own COMPUTER_SLEPT = "browser.computer_slept";

    // Statuses and headers seen on the wire.

    /// `Retry-After` of an answer; the number is seconds, the text the header as sent.
    Http RETRY_AFTER = "http.retry_after";
    /// The debugging socket was refused because an `Origin` was sent; the number is the status.
    Http ORIGIN_REFUSED = "http.origin_refused";

    // Events and typed errors of the browser's protocol.

    /// The document went to the login page.
    Cdp LOGIN_PAGE = "cdp.login_page";
    /// The profile holds no session cookie.
    Cdp NO_SESSION_COOKIE = "cdp.no_session_cookie";
    /// A request failed without a status; the text is the browser's error name.
    Cdp LOADING_FAILED = "cdp.loading_failed";
    /// Requests are pending without an answer; the number says how many.
    Cdp REQUESTS_PENDING = "cdp.requests_pending";
    /// The probe on the standing session got no answer: the page hangs.
    Cdp PROBE_UNANSWERED = "cdp.probe_unanswered";
    /// The probe was answered: only the one call is stuck.
    Cdp PROBE_ANSWERED = "cdp.probe_answered";
    /// Processor time of the page's process grows while it does not answer.
    Cdp RENDERER_BUSY = "cdp.renderer_busy";
    /// A dialog of the page is open.
    Cdp DIALOG_OPEN = "cdp.dialog_open";
    /// The target was detached.
    Cdp TARGET_DETACHED = "cdp.target_detached";
    /// The target crashed; the text is the status, the number the error code.
    Cdp TARGET_CRASHED = "cdp.target_crashed";
    /// The tab or browser went between `done` and the answer to `save`.
    Cdp GONE_BEFORE_SAVE = "cdp.gone_before_save";
    /// The page is blank or not ready yet.
    Cdp PAGE_LOADING = "cdp.page_loading";
    /// The API root is undefined in the main world of the top frame.
    Cdp ROOT_MISSING = "cdp.root_missing";
    /// The API root is there.
    Cdp ROOT_PRESENT = "cdp.root_present";
    /// An evaluate threw a type error; the text is its message.
    Cdp TYPE_ERROR = "cdp.type_error";
    /// Nothing answers on the port of the local address.
    Cdp PORT_SILENT = "cdp.port_silent";
    /// The attached browser's id is not the one on the child's line.
    Cdp BROWSER_ID_DIFFERS = "cdp.browser_id_differs";
    /// The child listens on the other address family: the port was taken.
    Cdp LISTENS_ELSEWHERE = "cdp.listens_elsewhere";
    /// The attached browser has no tab with the editor.
    Cdp NO_EDITOR_TARGET = "cdp.no_editor_target";
    /// Two pages carry the same project id; the number says how many.
    Cdp TWO_WINDOWS = "cdp.two_windows";
    /// The socket ended without a close frame.
    Cdp SOCKET_GONE = "cdp.socket_gone";
    /// The target is not a page; the text is its type.
    Cdp TARGET_NOT_PAGE = "cdp.target_not_page";
    /// The project id in the target's address is another one.
    Cdp PROJECT_ID_DIFFERS = "cdp.project_id_differs";
    /// The browser does not know a method; the text names it.
    Cdp METHOD_NOT_FOUND = "cdp.method_not_found";
    /// The self-test at attach failed; the text says where.
    Cdp SELF_TEST_FAILED = "cdp.self_test_failed";

    // Return values of the editor and fields of parsed answers.

    /// The user info has no uuid.
    Report USER_WITHOUT_ID = "eda.user_without_id";
    /// The user info has a uuid.
    Report USER_WITH_ID = "eda.user_with_id";
    /// Opening a document answered undefined.
    Report OPEN_UNDEFINED = "eda.open_undefined";
    /// The id is not in a fresh project list.
    Report PROJECT_NOT_LISTED = "eda.project_not_listed";
    /// A part search gave an empty list.
    Report SEARCH_EMPTY = "eda.search_empty";
    /// The part is unknown to the supplier, by the answer's own code; the text names it.
    Report PART_UNKNOWN = "eda.part_unknown";
    /// A search gave only array or network parts.
    Report ONLY_ARRAYS = "eda.only_arrays";
    /// A search gave parts, all with other values; the text names them.
    Report WRONG_VALUES = "eda.wrong_values";
    /// The supplier number is known and has no model.
    Report NO_MODEL = "eda.no_model";
    /// The placed part, read back, is not the part of the list.
    Report PART_DIFFERS = "eda.part_differs";
    /// Page and board lists are empty.
    Report LISTS_EMPTY = "eda.lists_empty";
    /// The project uuid is set.
    Report PROJECT_SET = "eda.project_set";
    /// The project was made new and has no pages yet.
    Report PROJECT_NEW = "eda.project_new";
    /// The capability probe misses a method that the step needs; the text names it.
    Report METHOD_MISSING = "eda.method_missing";
    /// A method takes another number of arguments; the text names it.
    Report ARGUMENTS_DIFFER = "eda.arguments_differ";
    /// A method answers in another shape; the text names it.
    Report SHAPE_DIFFERS = "eda.shape_differs";
    /// The editor's version is not the one of the last good run; the text has it.
    Report EDITOR_VERSION_DIFFERS = "eda.editor_version_differs";
    /// `save` answered false.
    Report SAVE_FALSE = "eda.save_false";
    /// `save` answered true.
    Report SAVE_TRUE = "eda.save_true";
    /// The server's revision did not move.
    Report REVISION_UNMOVED = "eda.revision_unmoved";
    /// What was written is there: a late answer whose write landed.
    Report WRITE_LANDED = "eda.write_landed";
    /// Pins read an empty net; the number says how many.
    Report PIN_NET_EMPTY = "eda.pin_net_empty";
    /// A wire that names a net ends on such a pin.
    Report WIRE_ENDS_ON_PIN = "eda.wire_ends_on_pin";
    /// The read differs from what was written.
    Report READ_DIFFERS = "eda.read_differs";
    /// Writes answered undefined or false.
    Report WRITES_REFUSED = "eda.writes_refused";
    /// Reads of the same window were answered.
    Report READS_FINE = "eda.reads_fine";
    /// The generated call does not fit the signature table; the text names it.
    Report CALL_MALFORMED = "eda.call_malformed";
    /// The current project or document is not the wanted one, right before a write.
    Report DOCUMENT_DIFFERS = "eda.document_differs";
    /// The browser's version is not the one of the last good run; the text has it.
    Report BROWSER_VERSION_DIFFERS = "browser.version_differs";

    // Markers in the page, by selector.

    /// The login control is visible.
    Dom LOGIN_VISIBLE = "eda.login_visible";
    /// The loading mark did not move; the number is the milliseconds it stood still.
    Dom PROGRESS_STUCK = "eda.progress_stuck";
    /// The banner of the edit lock is visible.
    Dom LOCK_BANNER = "eda.lock_banner";

    // Files and links.

    /// The profile's lock link names a host and a process id; the text has both.
    File LOCK_LINK = "browser.lock_link";
    /// The lock names another computer; the text names it.
    File LOCK_OTHER_HOST = "browser.lock_other_host";
    /// The lock is a plain file, not a link.
    File LOCK_NOT_A_LINK = "browser.lock_not_a_link";
    /// The lock's process is gone from this computer.
    File LOCK_OWNER_DEAD = "browser.lock_owner_dead";
    /// The profile has no lock.
    File LOCK_ABSENT = "browser.lock_absent";
    /// The attached browser uses another data folder.
    File OTHER_DATA_FOLDER = "browser.other_data_folder";
    /// The folder of the profile clone is missing.
    File CLONE_MISSING = "browser.clone_missing";
    /// The folder is there and its marker is not.
    File CLONE_MARKER_MISSING = "browser.clone_marker_missing";
    /// A person moved the clone; the text has the recorded new place.
    File CLONE_MOVED = "browser.clone_moved";

    // Words, by the place where they were read.

    /// Words of a short notice that the editor shows.
    Text TOAST = "eda.toast";
}
