"""Formulas on the site: LaTeX of pages and plain text of docstrings become MathML, which browsers draw by themselves.

Pages hold LaTeX between dollars, which is also typeset where the repository is read. Docstrings are written for
`help()`, so a formula there is plain text on an indented line of its own; `latex_of` reads it:

- `a / b` with blanks is a built fraction of the two factors beside it; `a/b` stays on one line.
- `p^eta`, `x_i`, `p^(1 - a)`: letters by their names, exponents of more than one sign in round brackets.
- `sqrt(...)`, `<=`, `>=`, `+-`, `->`, `int_a^b`, `sum_i`; names of several letters stand upright.
"""

import html
import re
from xml.etree import ElementTree

from latex2mathml.converter import convert

GREEK = (
    *("alpha", "beta", "gamma", "delta", "Delta", "eta", "theta", "lambda", "mu", "sigma", "kappa", "rho", "pi"),
    *("zeta", "Phi", "phi"),
)
WORDS = {name: f"\\{name}" for name in (*GREEK, "log", "exp", "max", "min", "sup", "sum", "int")}
WORDS |= {"eps": "\\varepsilon", "logbar": "\\overline{\\log}", "inf": "\\infty"}
SIGNS = {"<=": "\\le", ">=": "\\ge", "+-": "\\pm", "->": "\\to", "!=": "\\ne", "...": "\\dots", "*": "\\cdot"}
TOKEN = re.compile(r"\s+/\s+|\s+|<=|>=|\+-|->|!=|\.\.\.|\d+(?:\.\d+)?|[A-Za-z]+|.")
CALLED = ("log", "exp", "w", "P", "Phi", "logbar", "kl", "K")
SPAN = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>([.,;:!?)]*)', re.DOTALL)
FUNCTIONS = ("log", "exp", "max", "min", "sup", "det", "arcsin", "cos", "sin")
LIMITED = ("max", "min", "sup", "lim\u2006inf")
NAMESPACE = re.compile(r' xmlns="[^"]*"')


class Reader:
    """A formula in plain text, read from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text.strip())
        self.at = 0

    def peek(self) -> str:
        """The next sign, or nothing at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        """The next sign, which is then read."""
        self.at += 1
        return self.tokens[self.at - 1]

    def sequence(self, end: str = "") -> str:
        """Everything up to a closing bracket."""
        parts: list[str] = []
        while self.peek() and self.peek() != end:
            if self.peek().strip() == "/" and len(self.peek()) > 1:
                self.take()
                parts.append(f"\\frac{{{bare(parts.pop())}}}{{{bare(self.factor())}}}")
            elif self.peek().isspace():
                self.take()
            else:
                parts.append(self.factor())
        return " ".join(parts)

    def factor(self) -> str:
        """One sign, name or bracket with what stands above and below it."""
        sign = self.take()
        if sign == "(":
            base = f"\\left({self.sequence(')')}\\right)"
            self.take()
        elif sign == "sqrt" and self.peek() == "(":
            self.take()
            base = f"\\sqrt{{{self.sequence(')')}}}"
            self.take()
        else:
            base = named_sign(sign)
        while self.peek() in ("^", "_"):
            where = self.take()
            base += f"{where}{{{self.script()}}}"
        if sign in CALLED and self.peek() == "(":  # a function takes its brackets with it, into a fraction too
            base += self.factor()
        return base

    def script(self) -> str:
        """An exponent or an index: one sign, a signed number, or a bracket."""
        if self.peek() in ("(", "{"):
            end = {"(": ")", "{": "}"}[self.take()]
            inside = self.sequence(end)
            self.take()
            return inside
        if self.peek() == "-":
            return self.take() + self.script()
        return named_sign(self.take())


def named_sign(sign: str) -> str:
    """The LaTeX of a sign or a name; names of several letters that are not known stand upright."""
    upright = f"\\mathrm{{{sign}}}" if sign.isalpha() and len(sign) > 1 else sign
    return SIGNS.get(sign) or WORDS.get(sign) or upright


def bare(part: str) -> str:
    """A part without the brackets around the whole of it: a fraction needs none."""
    inside = re.fullmatch(r"\\left\((.*)\\right\)", part)
    return inside[1] if inside and balanced(inside[1]) else part


def balanced(text: str) -> bool:
    """Whether brackets close in the order in which they open."""
    depth = 0
    for sign in re.findall(r"\\left\(|\\right\)", text):
        depth += 1 if sign == "\\left(" else -1
        if depth < 0:
            return False
    return depth == 0


def latex_of(plain: str) -> str:
    r"""The LaTeX of a formula in plain text.

    >>> latex_of("w(p) = p^eta / (p^eta + (1-p)^eta)^(1/eta)")
    'w\\left(p\\right) = \\frac{p^{\\eta}}{\\left(p^{\\eta} + \\left(1 - p\\right)^{\\eta}\\right)^{1 / \\eta}}'
    """
    return Reader(plain).sequence()


def mathml(latex: str, display: bool) -> str:
    r"""MathML of a formula; what cannot be read stops the build, since a reader would see it raw.

    >>> mathml(r"a \le b", display=False)
    '<math display="inline"><mrow><mi>a</mi><mo>≤</mo><mi>b</mi></mrow></math>'
    """
    root = ElementTree.fromstring(NAMESPACE.sub("", convert(latex, display="block" if display else "inline")))
    for node in list(root.iter()):
        mend(node, display)
        if re.match(r"\\[A-Za-z]|&", node.text or ""):
            raise ValueError(
                f"a formula must use LaTeX that can be converted; got {node.text} in {latex!r}. Write it otherwise."
            )
    return ElementTree.tostring(root, encoding="unicode")


def mend(node: ElementTree.Element, display: bool) -> None:
    """Put right what the converter leaves: signs that it takes for names, and room around names of functions."""
    if node.text in ("±", "~"):
        node.tag = "mo"
    if node.text in ("|", "‖", "/"):  # a bar beside a sign is an end, and a slash is narrow
        node.attrib.update(lspace="0", rspace="0", stretchy="false")
    if node.text == "―":  # the bar over a name is as long as the name
        node.text, node.attrib["stretchy"] = "¯", "true"
    if node.text in FUNCTIONS:
        node.tag = "mi"
    if node.tag == "msub" and display and node[0].text in LIMITED:
        node.tag = "munder"  # what a maximum is taken over stands below it
    if node.tag == "mrow":
        for at in range(len(node) - 1, 0, -1):
            if named(node[at - 1]) and not opens(node[at]):
                node.insert(at, ElementTree.Element("mspace", {"width": "0.17em"}))


def named(node: ElementTree.Element) -> bool:
    """Whether a node is the name of a function, with or without an index."""
    return (node[0] if len(node) else node).text in FUNCTIONS


def opens(node: ElementTree.Element) -> bool:
    """Whether a node begins with a bracket, or is a sign between two operands."""
    first = next(node.iter("mo"), None) if node.tag in ("mrow", "msup") else node
    return first is not None and first.tag == "mo"


def typeset(page: str) -> str:
    r"""A page whose formulas are MathML.

    >>> typeset('<span class="arithmatex">\\(x\\)</span>')
    '<math display="inline"><mrow><mi>x</mi></mrow></math>'
    """

    def drawn(found: re.Match[str]) -> str:
        block = found[1] == "div"
        formula = mathml(html.unescape(found[2]).strip(), display=block)
        if block:
            return f'<div class="formula">{formula}</div>{found[3]}'
        # a comma or a full stop stays on the line of its formula
        return f'<span class="kept">{formula}{found[3]}</span>' if found[3] else formula

    return SPAN.sub(drawn, page)
