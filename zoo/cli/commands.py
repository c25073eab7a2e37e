"""The table of all commands. Each entry names a request, the function that answers it, and the function that shows the
answer."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.cli.request_command import Command
from zoo.requests.data import SOURCES


@dataclass(frozen=True)
class CommandGroup:
    """A command that contains other commands."""

    help: str
    epilog: str | None = None


# fmt: off
COMMANDS: dict[str, Command | tuple[str, str] | str] = {
    "list": Command("List the models of the zoo.", "models:ListRequest", "models:list_cards", "models:show_list",
                    doing="reading"),
    "card": Command("Show a model's card: its purpose, input and results.",
                    "models:CardRequest", "models:card", "models:show_card",
                    doing="reading"),
    "import": Command("Write a model's files, or a net as a Python program.",
                      "models:ImportRequest", "models:import_model", "models:show_imported",
                      doing="importing", computes=True),
    "pull": Command("Pull a model into the store and verify its files.",
                    "models:FetchRequest", "models:fetch", "models:show_pulled",
                    doing="pulling"),
    "push": Command("Push a model to a folder or a hub.",
                    "models:PushRequest", "models:give", "models:show_given",
                    doing="pushing"),
    "store": "List, check and prune the pulled models.",
    "store list": Command("List the models in the store.",
                          "models:StoreListRequest", "models:list_store", "models:show_store",
                          doing="reading"),
    "store check": Command("Check all files against their hashes.",
                           "models:StoreCheckRequest", "models:check_store", "models:show_checked",
                           doing="checking"),
    "store prune": Command("Remove damaged models, or models by name.",
                           "models:StorePruneRequest", "models:prune_store", "models:show_removed",
                           doing="removing"),
    "store path": Command("Print the folder of the store, or of a model.",
                          "models:StorePathRequest", "models:path_in_store", "models:show_path"),
    "show": Command("Show the contents of files: nets, weights, solvers, means.",
                    "files:ShowRequest", "files:show", "files:show_files", "reading"),
    "draw": Command("Draw a net as a graph, SVG or PNG.",
                    "files:DrawRequest", "drawing.draw:draw", "files:show_drawn", "drawing", json=False,
                    computes=True),
    "check": Command("Check whether nets work: their types, connections and shapes.",
                     "files:CheckRequest", "checking:check", "check:show_found", "checking", "check:show_summary",
                     computes=True),
    "adopt": Command("Adopt an old Caffe project: its scripts, solvers, nets and data.",
                     "adopting:AdoptRequest", "adopting.adopt:adopt", "adopt:show_adoption", "reading",
                     computes=True),
    "diff": Command("Compare two files: their structure and weights.",
                    "files:DiffRequest", "files:diff", "files:show_difference", "comparing"),
    "fmt": Command("Format prototxt files, and keep their comments.",
                   "files:FormatRequest", "files:format_files", "files:show_formatted",
                   doing="formatting"),
    "upgrade": Command("Upgrade an old net or solver to the current format.",
                       "files:UpgradeRequest", "files:upgrade", "files:show_upgraded", "upgrading"),
    "data": "Show and convert data sets, and compute their mean image.",
    "data convert": Command("Convert a data set to LMDB, LevelDB, Parquet, Pascal VOC, COCO or YOLO.",
                            "data:ConvertDataRequest", "data_sets:convert_data", "data:show_converted", "converting"),
    "data mean": Command("Compute the mean image, for mean_file and mean_value.",
                         "data:MeanRequest", "data_sets:mean", "data:show_mean", "averaging"),
    "data show": Command("Show the number of items, their classes, shapes and labels.",
                         "data:ShowDataRequest", "data_sets:show_data", "data:show_data", "reading"),
    "train": Command("Train a net with Caffe's solvers.",
                     "training:TrainRequest", "training:train",
                     "training_display:show_trained", display="training_display:RunDisplay",
                     doing="starting", computes=True),
    "finetune": Command("Fine-tune a model to classify your data.",
                        "training:TuneRequest", "finetuning.tune:tune",
                        "training_display:show_tuned", display="training_display:TuningDisplay",
                        doing="starting", computes=True),
    "test": Command("Test a net with weights on its test data.",
                    "using:TestRequest", "testing:test", "using:show_tested", "testing",
                    computes=True),
    "run": Command("Run a torch or pycaffe script with several workers.",
                   "training:RunRequest", "running:run", json=False, takes_all=True,
                   doing="starting"),
    "report": Command("Report on a run: a table, and a page to look at.",
                      "training:ReportRequest", "report.report:report", "report:show_report", "reading",
                      computes=True),
    "plan": Command("Plan how to train a net on given machines.",
                    "planning:PlanningRequest", "planning:plan", "planning:show_plan", "planning",
                    computes=True),
    "simulate": "Simulate training with several machines.",
    "simulate run": Command("Simulate the training of your own net.",
                            "planning:SimulateRequest", "simulating.simulate:simulate", "planning:show_estimate",
                            doing="simulating", computes=True),
    "simulate speedup": Command("Draw SparkNet's Figure 3: speed-up by workers and tau.",
                                "planning:SpeedupRequest", "simulating.simulate:speedup", "planning:show_figure",
                                doing="simulating", computes=True),
    "simulate cost": Command("Draw SparkNet's Figure 4: speed-up by the cost of exchanges.",
                             "planning:CostRequest", "simulating.simulate:cost", "planning:show_figure",
                             doing="simulating", computes=True),
    "simulate methods": Command("Draw the MPCA paper's comparison of four methods.",
                                "planning:MethodsRequest", "simulating.simulate:methods", "planning:show_figure",
                                doing="simulating", computes=True),
    "simulate alexnet": Command("Draw SparkNet's Figures 5 and 7: AlexNet by workers and tau.",
                                "planning:AlexNetRequest", "simulating.simulate:alexnet", "planning:show_figure",
                                doing="simulating", computes=True),
    "caffe": ("zoo.cli.caffe:command", "Run the caffe program's own commands, with its flags."),
    "predict": Command("Predict what images show, or add predictions to a table.",
                       "using:PredictRequest", "predicting:predict", "using:show_predicted", json=False,
                       doing="predicting", computes=True),
    "features": Command("Write a table with any blobs of a net for each row.",
                        "using:FeaturesRequest", "table_columns:features", "using:show_features", "predicting",
                        computes=True),
    "propose": Command("Write the regions that a net proposes for images.",
                       "using:ProposeRequest", "proposing:propose", "using:show_proposed", "proposing",
                       computes=True),
    "serve": Command("Serve a model over HTTP, with a page to try it.",
                     "using:ServeRequest", "serving.serve:serve", "using:serve_until_ended", json=False,
                     doing="starting", computes=True),
    "export": Command("Export a net for deployment with Caffe, ONNX or torch.",
                      "exporting:ExportRequest", "exporting:export", "export:show_exported", "exporting",
                      computes=True),
    "convert": Command("Convert weights and nets from one format to another.",
                       "exporting:ConvertRequest", "converting:convert", "export:show_converted", "converting",
                       computes=True),
    "verify": Command("Verify that two models compute the same values.",
                      "exporting:VerifyRequest", "verifying:verify", "export:show_verified", "comparing",
                      computes=True),
    "opencv": "Move OpenCV programs from Caffe models to ONNX.",
    "opencv migrate": Command("Export the Caffe models that a program reads, and write a patch for it.",
                              "exporting:MigrateRequest", "migrating.migrate:migrate", "migrating:show_migration",
                              doing="reading", computes=True),
    "targets": "List, install and remove the programs that run exported models.",
    "targets list": Command("List the programs that run exported models.",
                            "exporting:TargetListRequest", "targets:list_targets", "targets:show_targets",
                            doing="reading"),
    "targets install": Command("Install programs, each into an environment of its own.",
                               "exporting:TargetInstallRequest", "targets:install", "targets:show_installed",
                               doing="installing"),
    "targets remove": Command("Remove the environments of programs.",
                              "exporting:TargetRemoveRequest", "targets:remove", "targets:show_removed",
                              doing="removing"),
    "doctor": Command("Check this installation, and say what to do next.",
                      "machine:DoctorRequest", "doctor.examination:examine", "doctor:show_diagnosis", "examining"),
    "time": Command("Time a net, layer by layer.",
                    "using:TimeRequest", "timing:time", "using:show_times", "measuring",
                    computes=True),
    "completion": Command("Print the script that lets the Tab key complete commands.",
                          "machine:CompletionRequest", show="completion:print_script", json=False),
}

# Tasks of users and their commands, in the order of the help.
TASKS = {
    "Find and get models": ("list", "card", "import", "pull", "push", "store"),
    "Show and repair files": ("show", "draw", "check", "adopt", "diff", "fmt", "upgrade"),
    "Prepare data": ("data",),
    "Train": ("train", "finetune", "test", "run", "report", "plan", "simulate", "caffe"),
    "Use": ("predict", "features", "propose", "serve"),
    "Export and compare": ("export", "convert", "verify", "targets", "opencv"),
    "This machine": ("doctor", "time", "completion"),
}
# fmt: on

GROUPS = {
    "data": CommandGroup("Show data sets, convert them, and compute their mean image.", SOURCES),
    "store": CommandGroup(
        "List, check and prune the models that `zoo pull` stored. They are in the folder that NETDSL_HOME "
        "names, or in netdsl in the user's cache folder, ~/.cache or the one that XDG_CACHE_HOME names."
    ),
    "targets": CommandGroup(
        "List, install and remove the programs that run exported models, such as OpenCV and OpenVINO. `zoo verify --in "
        "TARGET` compares a model's outputs there with those here. Each program has an environment of its own, in "
        "netdsl's folder in the user's cache folder."
    ),
    "opencv": CommandGroup(
        "Move programs from OpenCV's reader of Caffe models, which OpenCV 5 doesn't have, to its reader of ONNX."
    ),
    "simulate": CommandGroup(
        "Simulate training with several machines. All workers really train, in the memory of this machine. Only "
        "the times of computing and exchanging are simulated.\n\n`run` simulates your own net. The other "
        "commands redraw figures of the SparkNet and MPCA papers with a small net on digits, and write a PNG "
        "and CSV files."
    ),
}
