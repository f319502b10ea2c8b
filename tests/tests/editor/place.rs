//! A board that drives the stand-in editor: the real pcbflow, a real browser.

#![cfg_attr(not(feature = "heavy"), expect(dead_code, reason = "the long suites use all of it"))]

use pcbflow_tests::editor::{Options, StandIn};
use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::{TestEnvironment, processes};
use serde_json::{Value, json};

/// The board of these tests.
pub const BOARD: &str = "door-sensor";
/// The block of these tests: three parts, wires with nets, a flag; written as for the editor's own
/// runner of scripts, so nobody waits for its last expression.
pub const BLOCK: &str = r"// A block for the stand-alone runner.
const NETS = [['VCC', 'LED_K'], ['LED_K', 'GND'], ['VCC', 'GND']];
(async () => {
  const numbers = ['C25804', 'C72043', 'C14663'];
  for (const [at, number] of numbers.entries()) {
    const found = (await pick(number));
    const part = await eda.sch_PrimitiveComponent.create(found, 200 + at * 200, 200);
    await sleep(30);
    const pins = await eda.sch_PrimitiveComponent.getAllPinsByPrimitiveId(part.primitiveId);
    await wire(part, pins ?? [], at);
  }
  await eda.sch_PrimitiveComponent.createNetFlag('Ground', 'GND', 100, 100);
})();
";
/// What is put before it.
pub const ENGINE: &str = r"const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
async function pick(number) {
  const found = await eda.lib_Device.getByLcscIds([number]);
  if (!found[0]) throw new Error(`no part ${number}`);
  return found[0];
}
async function wire(part, pins, at) {
  const y = 200 + at * 0;
  const x = 200 + at * 200;
  await eda.sch_PrimitiveWire.create([x - 20, y, x - 50, y], NETS[at][0]);
  await eda.sch_PrimitiveWire.create([x + 20, y, x + 50, y], NETS[at][1]);
}
";

const STEPS: &str = "      - id: open\n        uses: eda/open\n        with: { project: door-sensor }\n\
     \x20     - id: sensor\n        uses: eda/script\n        needs: [open]\n\
     \x20       with: { engine: engine.js, script: sensor.js, call_seconds: 3 }\n\
     \x20     - id: save\n        uses: eda/save\n        needs: [sensor]\n\
     \x20     - id: read\n        uses: eda/read-back\n        needs: [save]\n";

/// A stand-in, a workspace that names it, and a board.
pub struct Place {
    pub editor: StandIn,
    pub test: TestEnvironment,
}

impl Place {
    /// Everybody is signed in; the board has these steps.
    pub fn new(steps: &str) -> Place {
        let editor = StandIn::start(&Options::default()).expect("starts");
        editor.set(&json!({ "signed_in": true }));
        let test = TestEnvironment::new();
        let settings = format!(
            "[editor]\naddress = \"{}\"\nheadless = true\nsandbox = false\n",
            editor.editor_url()
        );
        let manifest = Manifest::new(BOARD).phase("07-schematic-draft").raw(steps);
        test.boards(&[&manifest]);
        std::fs::write(test.ws().join("pcbflow.toml"), settings).expect("settings");
        let place = Place { editor, test };
        place.script("engine.js", ENGINE);
        place.script("sensor.js", BLOCK);
        place
    }

    /// The whole flow of one block.
    pub fn one_block() -> Place {
        Place::new(STEPS)
    }

    /// Gives the block's step a time of its own.
    pub fn with_timeout(&self, time: &str) {
        let file = self.test.board(BOARD).join("project.yaml");
        let text = std::fs::read_to_string(&file).expect("a manifest");
        let uses = "        uses: eda/script\n";
        assert!(text.contains(uses));
        let timed = text.replace(uses, &format!("{uses}        timeout: {time}\n"));
        std::fs::write(file, timed).expect("a manifest");
    }

    /// From here on the board only reads the drawing.
    pub fn only_reads(&self) {
        let steps = "      - id: look\n        uses: eda/read-back\n        \
                     with: { project: door-sensor }\n";
        let manifest = Manifest::new(BOARD).phase("07-schematic-draft").raw(steps);
        manifest.write(&self.test.board(BOARD));
    }

    /// Adds lines to the editor's settings.
    pub fn settings(&self, more: &str) {
        let file = self.test.ws().join("pcbflow.toml");
        let text = std::fs::read_to_string(&file).expect("settings");
        std::fs::write(file, text + more).expect("settings");
    }

    /// A second board with the same block in another project.
    pub fn more_board(&self, name: &str, project: &str) {
        let steps = STEPS.replace("project: door-sensor", &format!("project: '{project}'"));
        self.test.boards(&[&Manifest::new(name).phase("07-schematic-draft").raw(&steps)]);
        let folder = self.test.board(name);
        std::fs::write(folder.join("engine.js"), ENGINE).expect("a script");
        std::fs::write(folder.join("sensor.js"), BLOCK).expect("a script");
    }

    /// Writes a script of the board.
    pub fn script(&self, name: &str, text: &str) {
        std::fs::write(self.test.board(BOARD).join(name), text).expect("a script");
    }

    /// Kinds of the objects that the server holds of the first page, sorted.
    pub fn saved(&self) -> Vec<String> {
        let mut kinds: Vec<String> =
            self.saved_objects().iter().map(|p| p["kind"].as_str().unwrap_or("").into()).collect();
        kinds.sort();
        kinds
    }

    /// The objects that the server holds of the first page.
    pub fn saved_objects(&self) -> Vec<Value> {
        let state = self.editor.state();
        let page = &state["projects"][0]["boards"][0]["schematic"]["page"][0]["uuid"];
        let page = page.as_str().expect("a page");
        state["docs"][page]["primitives"].as_array().cloned().unwrap_or_default()
    }

    /// Calls of the API so far.
    pub fn calls(&self, api: &str) -> usize {
        self.editor.events("call").iter().filter(|c| c["api"] == api).count()
    }

    /// The whole block is there, once, as the server has it.
    #[track_caller]
    pub fn assert_whole(&self) {
        let wanted = ["netflag", "part", "part", "part"];
        let wires = ["wire"; 6];
        assert_eq!(
            self.saved(),
            [wanted.as_slice(), wires.as_slice()].concat(),
            "{}",
            self.story()
        );
    }

    /// The record of the board, for a message.
    pub fn story(&self) -> String {
        self.test.story(BOARD)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let left = processes::left_of(&self.test.path(""));
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left of the run: {left:?}");
        }
    }
}
