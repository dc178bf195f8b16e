"""People: preferences from choices, with what the data cannot tell.

>>> from allais.people import Choices, Family
>>> Family().names
('weight_eta', 'utility_alpha', 'loss_aversion', 'temperature')
"""

from allais.people.attention import Attention
from allais.people.choices import Choices
from allais.people.compare import Comparison, compare, expected_value_family
from allais.people.continuous import Continuous
from allais.people.family import Family
from allais.people.fit import fit
from allais.people.fitted import Fitted
from allais.people.groups import Groups, groups
from allais.people.hierarchical import hierarchical
from allais.people.interview import Interview
from allais.people.page import write_page
from allais.people.parameters import Free, free
from allais.people.population import PopulationTable
from allais.people.posterior import posterior
from allais.people.priors import Prior
from allais.people.questions import Question
from allais.people.recommend import PeoplePrefer, recommend
from allais.people.rules import Logit, Probit
from allais.people.study import Study, study

__all__ = [
    "Attention",
    "Choices",
    "Comparison",
    "Continuous",
    "Family",
    "Fitted",
    "Free",
    "Groups",
    "Interview",
    "Logit",
    "PeoplePrefer",
    "PopulationTable",
    "Prior",
    "Probit",
    "Question",
    "Study",
    "compare",
    "expected_value_family",
    "fit",
    "free",
    "groups",
    "hierarchical",
    "posterior",
    "recommend",
    "study",
    "write_page",
]
