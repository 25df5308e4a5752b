"""Settings that contradict themselves: what is done to the valid ones, and the sentence that follows."""

from __future__ import annotations

from own_mistakes import Change, first, many, response, second, setting

S = "studies.functional_boosting.cases.own.settings"
P = f"{S}.predictors"
CONTRADICTORY: dict[str, tuple[Change, str]] = {
    "no response": (lambda own: own.settings.pop("response"), f"{S}.response is missing: give a block of keys."),
    "no predictors": (
        lambda own: own.settings.pop("predictors"),
        f"{S}.predictors is missing: give a list of blocks of ",
    ),
    "predictors empty": (setting(predictors=[]), f"{S}.predictors is empty: list at least one."),
    "no radius": (lambda own: own.settings.pop("radius"), f"{S}.radius is missing: give a number."),
    "no file": (lambda own: own.first.pop("file"), f"{P}[0].file is missing: give text."),
    "no party": (lambda own: own.first.pop("party"), f"{P}[0].party is missing: give text."),
    "misspelt": (
        first(colums="h*"),
        f"{P}[0].colums is unknown: did you mean columns? allowed here: below, centre, columns",
    ),
    "format": (first(format="excel"), f"{P}[0].format is 'excel': it must be one of long, wide, netcdf."),
    "no columns": (lambda own: own.first.pop("columns"), f"{P}[0].columns is None: format 'wide' needs it."),
    "no value": (
        lambda own: own.settings["response"].pop("value"),
        f"{S}.response.value is None: format 'long' needs it.",
    ),
    "unread": (first(value="rain"), f"{P}[0].value is 'rain': format 'wide' does not read it; leave it out."),
    "times of a long file": (response(times="names"), f"{S}.response.times is 'names': it belongs to format 'wide',"),
    "times": (first(times="start"), f"{P}[0].times is 'start': it must be one of middles, names or a list of numbers."),
    "delimiter": (first(delimiter=";;"), f"{P}[0].delimiter is ';;': it must be one character, such as ';' or "),
    "encoding": (
        first(encoding="utf-9"),
        f"{P}[0].encoding is 'utf-9': it must be one that Python knows, such as utf-8",
    ),
    "domain": (setting(domain=[24, 0]), f"{S}.domain is [24.0, 0.0]: it must be finite and increasing."),
    "range": (first(range=[1, 1]), f"{P}[0].range is [1.0, 1.0]: it must be finite and increasing."),
    "scale": (first(scale=0.0), f"{P}[0].scale is 0.0: it must be a positive finite number."),
    "too smooth": (setting(smoothing=2.0), f"{S}.smoothing is 2.0: it must lie in [0, 1], where 1 leaves straight "),
    "smoothing by the data": (setting(smoothing="gcv"), f"{S}.smoothing is 'gcv': it must be a number."),
    "transform": (first(transform="ln"), f"{P}[0].transform is 'ln': it must be one of none, log, log1p, sqrt."),
    "max_gap": (setting(max_gap=0.0), f"{S}.max_gap is 0.0: it must be a positive finite number."),
    "max_gap under missing": (
        setting(missing={"max_gap": 4}),
        f"{S}.missing.max_gap is called max_gap now and belongs one block up: move it.",
    ),
    "drop under missing": (
        setting(missing={"drop": False}),
        f"{S}.missing.drop is called missing: drop now and belongs one block up: move it.",
    ),
    "marks": (setting(marks=[-999]), f"{S}.marks[0] is -999: it must be text (put quotes around it)."),
    "quoted scale": (first(scale="2"), f"{P}[0].scale is '2': it must be a number (write it without quotes)."),
    "scale with a comma": (
        first(scale="0,5"),
        f"{P}[0].scale is '0,5': it must be a number (write it with a decimal point).",
    ),
    "misspelt format": (
        first(format="wid"),
        f"{P}[0].format is 'wid': it must be one of long, wide, netcdf (did you mean wide?).",
    ),
    "one time": (first(times=3), f"{P}[0].times is 3: it must be one of middles, names or a list of numbers."),
    "one number for a domain": (
        setting(domain=24),
        f"{S}.domain is 24: it must be a list of 2 numbers (write a list in brackets, as in [0, 30]).",
    ),
    "a line separator in a party": (
        second(party="a\u2028b"),
        f"{P}[1].party is 'a\\u2028b': line separators, tabs and control characters break tables; leave them out.",
    ),
    "a next line in a predictor": (
        second(name="a\x85b"),
        f"{P}[1].name is 'a\\x85b': line separators, tabs and control",
    ),
    "a formula as party": (
        second(party="=1+1"),
        f"{P}[1].party is '=1+1': a spreadsheet takes what begins so for a formula; begin otherwise.",
    ),
    "two names as party": (second(party="a;b"), f"{P}[1].party is 'a;b': ';' separates names in the ledger; choose"),
    "two holders of one predictor": (
        second(name="rain"),
        f"{P}[1].name is 'rain' for the second time (parties 'gauge' and 'office'): a predictor has one holder.",
    ),
    "the holder of the response": (
        many(response(party="office")),
        f"{P}[1].party is 'office', who holds the response: the active party brings no predictors; give the curve "
        "another holder or leave it out.",
    ),
    "the active party": (first(party="active"), f"{P}[0].party is 'active', who holds the response: "),
    "a name of the protocol": (first(party="dealer"), f"{P}[0].party is 'dealer': that name belongs to the "),
    "a party without a name": (first(party=" "), f"{P}[0].party is ' ': give a name."),
    "the response as a predictor": (
        lambda own: own.settings["predictors"].append({**own.settings["response"], "name": "level", "party": "spy"}),
        f"{P}[2] is the same curve as response (level.csv, value level): the response cannot predict itself; take it",
    ),
    "a predictor twice": (
        lambda own: own.settings["predictors"].append({**own.first, "name": "rain 2"}),
        f"{P}[2] is the same curve as predictors[0] (rain.csv, columns h*): list it once.",
    ),
    "number of parties": (
        lambda own: own.settings["predictors"].pop(),
        "studies.functional_boosting.cases.own.grid.parties is 2: split 'natural' of this case has 1 parties "
        "besides the holder of the response; write that number.",
    ),
    "number of folds": (
        setting(min_blocks=2, fold_block=None, min_records=1),
        f"{S}.min_records is 1: it must be at least 2.",
    ),
    "a basis without end": (setting(n_basis_x=5000), f"{S}.n_basis_x is 5000: at most 200 basis functions are fitted"),
    "an old word": (
        lambda own: own.case.update(source="tables"),
        "studies.functional_boosting.cases.own.source is 'tab",
    ),
}
