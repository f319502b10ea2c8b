//! The editor's API as far as scripts use it: methods, their arguments and shapes.
//!
//! From the published type declarations; where the running editor is known to want something else
//! than they say, what it wants. A method that is not here is refused before it is sent.

use serde_json::{Map, Value, json};

/// What an argument has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    /// Not looked at.
    Any,
    /// A number.
    Number,
    /// A text.
    Text,
    /// True or false.
    Bool,
    /// An object.
    Object,
    /// A device with its library: never a bare id.
    Device,
    /// Coordinates in one flat list: never pairs.
    Flat,
    /// A list.
    List,
    /// An id, an object, or a list of either.
    Ids,
    /// A text or a list of texts.
    Texts,
    /// One of these texts.
    One(&'static [&'static str]),
}

impl Is {
    /// The name under which the page knows it.
    fn word(self) -> &'static str {
        match self {
            Is::Any | Is::One(_) => "any",
            Is::Number => "number",
            Is::Text => "text",
            Is::Bool => "bool",
            Is::Object => "object",
            Is::Device => "device",
            Is::Flat => "flat",
            Is::List => "list",
            Is::Ids => "ids",
            Is::Texts => "texts",
        }
    }
}

/// One argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arg {
    /// Its name.
    pub name: &'static str,
    /// What it has to be.
    pub is: Is,
}

/// One method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// `namespace.method`.
    pub name: &'static str,
    /// How many arguments it needs.
    pub min: usize,
    /// All arguments that it takes.
    pub args: &'static [Arg],
    /// It answers at once and gives no promise.
    pub sync: bool,
}

const fn arg(name: &'static str, is: Is) -> Arg {
    Arg { name, is }
}

const fn call(name: &'static str, min: usize, args: &'static [Arg]) -> Signature {
    Signature { name, min, args, sync: false }
}

const fn at_once(name: &'static str, min: usize, args: &'static [Arg]) -> Signature {
    Signature { name, min, args, sync: true }
}

const NONE: &[Arg] = &[];
const UUID: &[Arg] = &[arg("uuid", Is::Text)];
const NAME: &[Arg] = &[arg("name", Is::Text)];
const IDS: &[Arg] = &[arg("ids", Is::Ids)];
const SEARCH: &[Arg] = &[
    arg("key", Is::Text),
    arg("libraryUuid", Is::Text),
    arg("classification", Is::Any),
    arg("symbolType", Is::Any),
    arg("itemsOfPage", Is::Number),
    arg("page", Is::Number),
];
const FILE: &[Arg] = &[
    arg("fileName", Is::Text),
    arg("type", Is::Any),
    arg("unit", Is::Any),
    arg("format", Is::Any),
    arg("other", Is::Any),
    arg("layers", Is::Any),
    arg("objects", Is::Any),
];
const CHECK: &[Arg] = &[
    arg("strict", Is::Bool),
    arg("userInterface", Is::Bool),
    arg("includeVerboseError", Is::Bool),
];
const NET: &[Arg] = &[arg("net", Is::Texts)];
const CHANGES: &[Arg] = &[arg("object", Is::Ids), arg("changes", Is::Object)];
const KIND: &[Arg] = &[arg("kind", Is::Any), arg("allPages", Is::Any)];

const FLAGS: Is = Is::One(&["Power", "Ground", "AnalogGround", "ProtectGround"]);
const PORTS: Is = Is::One(&["IN", "OUT", "BI"]);

/// Every method that scripts may call.
pub const TABLE: &[Signature] = &[
    at_once("sys_Environment.getUserInfo", 0, NONE),
    at_once("sys_Environment.isWeb", 0, NONE),
    at_once("sys_Environment.isClient", 0, NONE),
    at_once("sys_Environment.isOnlineMode", 0, NONE),
    at_once("sys_Environment.isHalfOfflineMode", 0, NONE),
    at_once("sys_Environment.isOfflineMode", 0, NONE),
    at_once("sys_Environment.isEasyEDAProEdition", 0, NONE),
    at_once("sys_Environment.isJLCEDAProEdition", 0, NONE),
    at_once("sys_Environment.isProPrivateEdition", 0, NONE),
    at_once("sys_Environment.getEditorCurrentVersion", 0, NONE),
    at_once("sys_Environment.getEditorCompliedDate", 0, NONE),
    at_once(
        "sys_Message.showToastMessage",
        1,
        &[
            arg("text", Is::Any),
            arg("type", Is::Any),
            arg("timer", Is::Any),
            arg("bottomPanel", Is::Any),
            arg("buttonTitle", Is::Any),
            arg("callback", Is::Any),
        ],
    ),
    at_once(
        "sys_MessageBox.showInformationMessage",
        1,
        &[arg("text", Is::Any), arg("title", Is::Any), arg("buttonTitle", Is::Any)],
    ),
    at_once("sys_Log.add", 1, &[arg("text", Is::Any), arg("type", Is::Any)]),
    at_once("sys_Log.sort", 0, &[arg("types", Is::Any)]),
    at_once("sys_LoadingAndProgressBar.showLoading", 0, NONE),
    at_once("sys_LoadingAndProgressBar.destroyLoading", 0, NONE),
    at_once(
        "sys_LoadingAndProgressBar.showProgressBar",
        0,
        &[arg("progress", Is::Any), arg("title", Is::Any)],
    ),
    at_once("sys_LoadingAndProgressBar.destroyProgressBar", 0, NONE),
    call("sys_FileManager.getDocumentSource", 0, NONE),
    call(
        "sys_FileManager.getProjectFile",
        0,
        &[arg("fileName", Is::Text), arg("password", Is::Any), arg("type", Is::Any)],
    ),
    call("dmt_Team.getAllTeamsInfo", 0, NONE),
    call("dmt_Team.getAllInvolvedTeamInfo", 0, NONE),
    call("dmt_Team.getCurrentTeamInfo", 0, NONE),
    call("dmt_Workspace.getAllWorkspacesInfo", 0, NONE),
    call("dmt_Workspace.getCurrentWorkspaceInfo", 0, NONE),
    call(
        "dmt_Project.getAllProjectsUuid",
        0,
        &[arg("team", Is::Text), arg("folder", Is::Text), arg("workspace", Is::Text)],
    ),
    call("dmt_Project.getProjectInfo", 1, UUID),
    call("dmt_Project.getCurrentProjectInfo", 0, NONE),
    call("dmt_Schematic.getAllSchematicsInfo", 0, NONE),
    call("dmt_Schematic.getAllSchematicPagesInfo", 0, NONE),
    call("dmt_Schematic.getCurrentSchematicInfo", 0, NONE),
    call("dmt_Schematic.getCurrentSchematicPageInfo", 0, NONE),
    call("dmt_Pcb.getAllPcbsInfo", 0, NONE),
    call("dmt_Pcb.getCurrentPcbInfo", 0, NONE),
    call("dmt_Board.getCurrentBoardInfo", 0, NONE),
    call("dmt_Board.getAllBoardsInfo", 0, NONE),
    call("dmt_EditorControl.openDocument", 1, &[arg("uuid", Is::Text), arg("screen", Is::Any)]),
    call("dmt_EditorControl.activateDocument", 1, &[arg("tabId", Is::Text)]),
    call("dmt_EditorControl.getSplitScreenTree", 0, NONE),
    call("dmt_EditorControl.getTabsBySplitScreenId", 1, &[arg("id", Is::Text)]),
    call("dmt_EditorControl.getCurrentRenderedAreaImage", 0, &[arg("tabId", Is::Text)]),
    call("dmt_EditorControl.zoomToAllPrimitives", 0, &[arg("tabId", Is::Text)]),
    call("dmt_SelectControl.getCurrentDocumentInfo", 0, NONE),
    call("lib_LibrariesList.getSystemLibraryUuid", 0, NONE),
    call("lib_LibrariesList.getPersonalLibraryUuid", 0, NONE),
    call("lib_LibrariesList.getProjectLibraryUuid", 0, NONE),
    call("lib_LibrariesList.getFavoriteLibraryUuid", 0, NONE),
    call("lib_LibrariesList.getAllLibrariesList", 0, NONE),
    call("lib_Device.search", 1, SEARCH),
    call(
        "lib_Device.getByLcscIds",
        1,
        &[arg("ids", Is::Texts), arg("libraryUuid", Is::Text), arg("several", Is::Bool)],
    ),
    call("lib_Device.get", 1, &[arg("uuid", Is::Text), arg("libraryUuid", Is::Text)]),
    call(
        "sch_PrimitiveComponent.create",
        3,
        &[
            arg("component", Is::Device),
            arg("x", Is::Number),
            arg("y", Is::Number),
            arg("subPartName", Is::Text),
            arg("rotation", Is::Number),
            arg("mirror", Is::Bool),
            arg("addIntoBom", Is::Bool),
            arg("addIntoPcb", Is::Bool),
        ],
    ),
    call(
        "sch_PrimitiveComponent.createNetFlag",
        4,
        &[
            arg("identification", FLAGS),
            arg("net", Is::Text),
            arg("x", Is::Number),
            arg("y", Is::Number),
            arg("rotation", Is::Number),
            arg("mirror", Is::Bool),
        ],
    ),
    call(
        "sch_PrimitiveComponent.createNetPort",
        4,
        &[
            arg("direction", PORTS),
            arg("net", Is::Text),
            arg("x", Is::Number),
            arg("y", Is::Number),
            arg("rotation", Is::Number),
            arg("mirror", Is::Bool),
        ],
    ),
    call("sch_PrimitiveComponent.modify", 2, CHANGES),
    call("sch_PrimitiveComponent.delete", 1, IDS),
    call("sch_PrimitiveComponent.get", 1, IDS),
    call("sch_PrimitiveComponent.getAll", 0, KIND),
    call("sch_PrimitiveComponent.getAllPrimitiveId", 0, KIND),
    call("sch_PrimitiveComponent.getAllPinsByPrimitiveId", 1, &[arg("id", Is::Text)]),
    call(
        "sch_PrimitiveWire.create",
        1,
        &[
            arg("line", Is::Flat),
            arg("net", Is::Text),
            arg("color", Is::Any),
            arg("lineWidth", Is::Any),
            arg("lineType", Is::Any),
        ],
    ),
    call("sch_PrimitiveWire.modify", 2, CHANGES),
    call("sch_PrimitiveWire.delete", 1, IDS),
    call("sch_PrimitiveWire.get", 1, IDS),
    call("sch_PrimitiveWire.getAll", 0, NET),
    call("sch_PrimitiveWire.getAllPrimitiveId", 0, NET),
    call(
        "sch_PrimitiveAttribute.createNetLabel",
        3,
        &[arg("x", Is::Number), arg("y", Is::Number), arg("net", Is::Text)],
    ),
    call("sch_Net.getAllNets", 0, NONE),
    call("sch_Net.getAllNetsName", 0, NONE),
    call("sch_Net.getNet", 1, NAME),
    call("sch_ManufactureData.getNetlistFile", 0, FILE),
    call("sch_ManufactureData.getBomFile", 0, FILE),
    call("sch_Document.save", 0, NONE),
    call("sch_Drc.check", 0, CHECK),
    call("pcb_Document.save", 0, UUID),
    call("pcb_Document.startCalculatingRatline", 0, NONE),
    call("pcb_Document.getCalculatingRatlineStatus", 0, NONE),
    call("pcb_Drc.check", 0, CHECK),
    call("pcb_Net.getAllNets", 0, NONE),
    call("pcb_Net.getAllNetsName", 0, NONE),
    call("pcb_PrimitiveComponent.getAll", 0, KIND),
    call("pcb_PrimitiveComponent.getAllPrimitiveId", 0, KIND),
    call("pcb_PrimitiveComponent.get", 1, IDS),
    call("pcb_ManufactureData.getGerberFile", 0, FILE),
    call("pcb_ManufactureData.getPickAndPlaceFile", 0, FILE),
    call("pcb_ManufactureData.getBomFile", 0, FILE),
    call("pcb_ManufactureData.getPadsFile", 0, FILE),
    call("pcb_ManufactureData.getDsnFile", 0, FILE),
];

/// A method that makes an object: what kind, and which arguments say where and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    /// `namespace.method`.
    pub name: &'static str,
    /// Kind of the object, as a read of the sheet names it.
    pub kind: &'static str,
    /// Names of its properties with the argument that holds each.
    pub args: &'static [(&'static str, usize)],
}

/// Methods that make an object. Each is guarded: what is there already is not made again.
pub const MAKING: &[Making] = &[
    Making {
        name: "sch_PrimitiveComponent.create",
        kind: "part",
        args: &[("x", 1), ("y", 2), ("rotation", 4)],
    },
    Making {
        name: "sch_PrimitiveComponent.createNetFlag",
        kind: "netflag",
        args: &[("sign", 0), ("net", 1), ("x", 2), ("y", 3)],
    },
    Making {
        name: "sch_PrimitiveComponent.createNetPort",
        kind: "netport",
        args: &[("sign", 0), ("net", 1), ("x", 2), ("y", 3)],
    },
    Making { name: "sch_PrimitiveWire.create", kind: "wire", args: &[("line", 0), ("net", 1)] },
    Making {
        name: "sch_PrimitiveAttribute.createNetLabel",
        kind: "netlabel",
        args: &[("x", 0), ("y", 1), ("net", 2)],
    },
];

/// Methods that the editor has and scripts must not call, with the reason.
pub const REFUSED: &[(&str, &str)] = &[
    (
        "sch_Netlist.getNetlist",
        "it never answers while a pin has no wire; use sch_ManufactureData.getNetlistFile",
    ),
    (
        "dmt_Project.openProject",
        "it drops unsaved work; the step's own 'project' says which one is open",
    ),
    ("dmt_EditorControl.closeDocument", "it drops unsaved work"),
    ("dmt_Project.createProject", "a repetition would make a second project"),
    ("dmt_Board.createBoard", "a repetition would make a second board"),
    ("dmt_Schematic.createSchematic", "a repetition would make a second schematic"),
    ("dmt_Schematic.createSchematicPage", "a repetition would make a second page"),
    ("dmt_Pcb.createPcb", "a repetition would make a second layout"),
    ("sch_Document.importChanges", "it waits for a click in a window"),
    ("pcb_Document.importChanges", "it waits for a click in a window"),
    ("pcb_PrimitiveLine.create", "what it makes can't be read back, so it could come out twice"),
    ("pcb_PrimitiveVia.create", "what it makes can't be read back, so it could come out twice"),
    ("pcb_PrimitiveArc.create", "wrong arguments of it end the drawing window"),
    ("pcb_PrimitivePour.create", "what it makes can't be read back, so it could come out twice"),
];

/// The signature of a method.
#[must_use]
pub fn find(name: &str) -> Option<&'static Signature> {
    TABLE.iter().find(|s| s.name == name)
}

/// The table for the page.
#[must_use]
pub fn as_json() -> Value {
    let one = |s: &Signature| {
        let args: Vec<Value> = s.args.iter().map(arg_json).collect();
        (s.name.to_owned(), json!({ "min": s.min, "args": args, "sync": s.sync }))
    };
    Value::Object(TABLE.iter().map(one).collect::<Map<String, Value>>())
}

fn arg_json(arg: &Arg) -> Value {
    let mut value = json!({ "name": arg.name, "is": arg.is.word() });
    if let Is::One(words) = arg.is {
        value["one"] = json!(words);
    }
    value
}

/// The guarded methods for the page.
#[must_use]
pub fn making_as_json() -> Value {
    let one = |m: &Making| {
        let args: Map<String, Value> =
            m.args.iter().map(|(key, at)| ((*key).to_owned(), json!(at))).collect();
        (m.name.to_owned(), json!({ "kind": m.kind, "args": args }))
    };
    Value::Object(MAKING.iter().map(one).collect::<Map<String, Value>>())
}
