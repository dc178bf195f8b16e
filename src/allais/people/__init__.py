"""People: preferences from choices, with what the data cannot tell.

>>> from allais.people import Choices, Family
>>> Family().names
('weight_eta', 'utility_alpha', 'loss_aversion', 'temperature')
"""

from allais.people.data.choices import Attention, Choices
from allais.people.inference.fit import Comparison, compare, expected_value_family, fit
from allais.people.inference.fitted import Fitted
from allais.people.inference.groups import Continuous, Groups, groups
from allais.people.inference.hierarchical import hierarchical
from allais.people.inference.posterior import posterior
from allais.people.inference.summary import PopulationTable
from allais.people.interview.candidates import Question
from allais.people.interview.files import write_page
from allais.people.interview.interview import Interview
from allais.people.interview.recommend import PeoplePrefer, recommend
from allais.people.interview.study import Study, study
from allais.people.model.family import Family
from allais.people.model.parameters import Free, Logit, Prior, Probit, free

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
