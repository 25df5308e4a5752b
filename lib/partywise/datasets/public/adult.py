"""What is public of the columns of Adult, as the source has them; standard library only."""

from __future__ import annotations

from .declarations import ColumnFacts, levels, steps

CODEBOOK = "codes of the census file"
PUBLIC = {
    "age": ColumnFacts(None, (17.0, 90.0), CODEBOOK + ": persons over 16, top code 90"),
    "education-num": ColumnFacts(None, (1.0, 16.0), CODEBOOK),
    "capital-gain": ColumnFacts(None, (0, 99999), CODEBOOK + ": top code"),
    "hours-per-week": ColumnFacts(None, (1, 99), CODEBOOK + ": top code"),
}
# The columns of the source in its order; those without levels are numbers.
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
)
# No complete record has the workclass Never-worked.
LEVELS = {
    "workclass": "Federal-gov Local-gov Private Self-emp-inc Self-emp-not-inc State-gov Without-pay",
    "education": (
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate HS-grad Masters Preschool "
        "Prof-school Some-college"
    ),
    "marital-status": (
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated Widowed"
    ),
    "occupation": (
        "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners Machine-op-inspct "
        "Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support Transport-moving"
    ),
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": (
        "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France Germany Greece "
        "Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica Japan Laos Mexico "
        "Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan "
        "Thailand Trinadad&Tobago United-States Vietnam Yugoslavia"
    ),
}


def column_facts() -> tuple[ColumnFacts, ...]:
    """Edges and ranges of the 14 columns; capital gains and losses and hours have no edges."""
    found = {name: levels(len(words.split()), CODEBOOK) for name, words in LEVELS.items()}
    found["age"] = ColumnFacts(steps((20.5, 5, 65.5)), (17.0, 90.0), PUBLIC["age"].because)
    weights = tuple(1000.0 * cut for cut in steps((50, 50, 300), (400, 100, 400)))
    found["fnlwgt"] = ColumnFacts(weights, (0.0, 500_000.0), "persons that one record stands for, round numbers")
    found["education-num"] = ColumnFacts(steps((1.5, 1, 15.5)), (1.0, 16.0), CODEBOOK)
    for name in ("capital-gain", "capital-loss", "hours-per-week"):
        found[name] = PUBLIC.get(name, PUBLIC["capital-gain"])
    return tuple(found[name] for name in COLUMNS)
