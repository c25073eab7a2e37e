"""The table of all commands: where the request of each is, what answers it, and what shows the answer."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.cli.request_command import Command
from zoo.requests.data import SOURCES


@dataclass(frozen=True)
class CommandGroup:
    """A command that has commands of its own."""

    help: str
    epilog: str | None = None


# fmt: off
COMMANDS: dict[str, Command | tuple[str, str] | str] = {
    "list": Command("List the models of the zoo.", "models:ListRequest", "models:list_cards", "models:show_list"),
    "card": Command("Show what a model is for, takes and gives.",
                    "models:CardRequest", "models:card", "models:show_card"),
    "import": Command("Write a model's files, or a net as a Python program.",
                      "models:ImportRequest", "models:import_model", "models:show_imported"),
    "pull": Command("Fetch a model into the store, where its name is a net.",
                    "models:FetchRequest", "models:fetch", "models:show_pulled"),
    "push": Command("Give a model to others: to a folder or a hub.",
                    "models:PushRequest", "models:give", "models:show_given"),
    "store": "List, check and prune the models that were pulled.",
    "store list": Command("List the models of the store.",
                          "models:StoreListRequest", "models:list_store", "models:show_store"),
    "store check": Command("Compare all files with their hashes.",
                           "models:StoreCheckRequest", "models:check_store", "models:show_checked"),
    "store prune": Command("Remove what is broken, or models by their names.",
                           "models:StorePruneRequest", "models:prune_store", "models:show_removed"),
    "store path": Command("Print the store's folder, or that of a model.",
                          "models:StorePathRequest", "models:path_in_store", "models:show_path"),
    "show": Command("Show what files hold: nets, weights, solvers, means.",
                    "files:ShowRequest", "files:show", "files:show_files", "reading"),
    "draw": Command("Draw a net as a graph, SVG or PNG.",
                    "files:DrawRequest", "drawing.draw:draw", "files:show_drawn", "drawing", json=False),
    "check": Command("Check whether nets would work: types, connections, shapes.",
                     "files:CheckRequest", "checking:check", "check:show_found", "checking", "check:show_summary"),
    "diff": Command("Show what two files differ in: structure and weights.",
                    "files:DiffRequest", "files:diff", "files:show_difference", "comparing"),
    "fmt": Command("Put prototxt files into one layout, with their comments.",
                   "files:FormatRequest", "files:format_files", "files:show_formatted"),
    "upgrade": Command("Bring an old net or solver to today's form.",
                       "files:UpgradeRequest", "files:upgrade", "files:show_upgraded", "upgrading"),
    "data": "Show and convert data sets, and take their mean image.",
    "data convert": Command("Write a data set as LMDB, LevelDB, Parquet, Pascal VOC, COCO or YOLO.",
                            "data:ConvertDataRequest", "data_sets:convert_data", "data:show_converted", "converting"),
    "data mean": Command("Write the mean image, for mean_file and mean_value.",
                         "data:MeanRequest", "data_sets:mean", "data:show_mean", "averaging"),
    "data show": Command("Show the number of items, their classes, shapes and labels.",
                         "data:ShowDataRequest", "data_sets:show_data", "data:show_data", "reading"),
    "train": Command("Train a net with Caffe's solvers.",
                     "training:TrainRequest", "training:train", display="training_display:RunDisplay"),
    "finetune": Command("Fine-tune a model to the classes of your data.",
                        "training:TuneRequest", "finetuning.tune:tune",
                        "training_display:show_tuned", display="training_display:TuningDisplay"),
    "test": Command("Test a net with weights on its test data.",
                    "using:TestRequest", "testing:test", "using:show_tested", "testing"),
    "run": Command("Run a torch or pycaffe script with several workers.",
                   "training:RunRequest", "running:run", json=False, takes_all=True),
    "report": Command("Report how a run went: a table, and a page to look at.",
                      "training:ReportRequest", "report.report:report", "report:show_report", "reading"),
    "plan": Command("Say how a net is best trained on some machines.",
                    "planning:PlanningRequest", "planning:plan", "planning:show_plan", "planning"),
    "simulate": "Simulate training with several machines.",
    "simulate run": Command("Simulate the training of a net of your own.",
                            "planning:SimulateRequest", "simulating.simulate:simulate", "planning:show_estimate"),
    "simulate speedup": Command("Draw SparkNet's Figure 3: speed-up by workers and tau.",
                                "planning:SpeedupRequest", "simulating.simulate:speedup", "planning:show_figure"),
    "simulate cost": Command("Draw SparkNet's Figure 4: speed-up by the cost of exchanges.",
                             "planning:CostRequest", "simulating.simulate:cost", "planning:show_figure"),
    "simulate methods": Command("Draw the MPCA paper's comparison of four methods.",
                                "planning:MethodsRequest", "simulating.simulate:methods", "planning:show_figure"),
    "simulate alexnet": Command("Draw SparkNet's Figures 5 and 7: AlexNet by workers and tau.",
                                "planning:AlexNetRequest", "simulating.simulate:alexnet", "planning:show_figure"),
    "caffe": ("zoo.cli.caffe:command", "Run the caffe program's own commands, with its flags."),
    "predict": Command("Say what is in images, or add predictions to a table.",
                       "using:PredictRequest", "predicting:predict", "using:show_predicted", json=False),
    "features": Command("Write a table with any blobs of a net for each row.",
                        "using:FeaturesRequest", "table_columns:features", "using:show_features", "predicting"),
    "propose": Command("Write the regions that a net proposes for images.",
                       "using:ProposeRequest", "proposing:propose", "using:show_proposed", "proposing"),
    "serve": Command("Serve a model over HTTP, with a page to try it.",
                     "using:ServeRequest", "serving.serve:serve", "using:serve_until_ended", json=False),
    "export": Command("Export a net ready to deploy, for Caffe, ONNX or torch.",
                      "exporting:ExportRequest", "exporting:export", "export:show_exported", "exporting"),
    "convert": Command("Convert weights and nets from one format to another.",
                       "exporting:ConvertRequest", "converting:convert", "export:show_converted", "converting"),
    "verify": Command("Verify that two models compute the same.",
                      "exporting:VerifyRequest", "verifying:verify", "export:show_verified", "comparing"),
    "doctor": Command("Tell what is installed here, what works, and what to do.",
                      "machine:DoctorRequest", "doctor.examination:examine", "doctor:show_diagnosis", "examining"),
    "time": Command("Measure how long a net takes, layer by layer.",
                    "using:TimeRequest", "timing:time", "using:show_times", "measuring"),
    "completion": Command("Print what lets the Tab key complete commands and models.",
                          "machine:CompletionRequest", show="completion:print_script", json=False),
}

# What one wants to do, and the commands for it, in the order of the help.
TASKS = {
    "Find and get models": ("list", "card", "import", "pull", "push", "store"),
    "See and mend files": ("show", "draw", "check", "diff", "fmt", "upgrade"),
    "Prepare data": ("data",),
    "Train": ("train", "finetune", "test", "run", "report", "plan", "simulate", "caffe"),
    "Use": ("predict", "features", "propose", "serve"),
    "Export and compare": ("export", "convert", "verify"),
    "This machine": ("doctor", "time", "completion"),
}
# fmt: on

GROUPS = {
    "data": CommandGroup("Show data sets, convert them, and take their mean image.", SOURCES),
    "store": CommandGroup(
        "List, check and prune the models that `zoo pull` fetched. They are in the folder that NETDSL_HOME names, or "
        "in ~/.cache/netdsl."
    ),
    "simulate": CommandGroup(
        "Simulate training with several machines. Every worker is really trained, in the memory of this machine; only "
        "the time that computing and exchanging take is simulated.\n\n"
        "`run` simulates a net of your own. The other commands draw figures of the SparkNet and MPCA papers again, "
        "with a small net on digits, and write a PNG and CSV files."
    ),
}
