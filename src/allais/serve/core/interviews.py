"""Interviews over HTTP: the next question, an answer, and in the end the person's preference."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from typing import Any

from sqlalchemy import Connection, insert, select, update

from allais.learner import NotNow
from allais.people import Interview
from allais.people.interview.candidates import Question
from allais.people.model.family import family_named
from allais.serve.api.schemas_people import AnswerQuestion, StartInterview
from allais.serve.core.errors import Refused, not_found, refusing
from allais.serve.core.experiments import audited
from allais.serve.core.keys import Key, digest_of
from allais.serve.core.people import put_person
from allais.serve.core.service import Service
from allais.serve.store.tables import interview_links, interviews
from allais.settings import to_spec

MOST_BEGINNINGS = 8  # interviews that may begin at the same time: those under way go first
MOST = 1_000  # interviews that are kept in memory; others are made again from their answers


class Conversation:
    """An interview and the events that make it again; one call at a time changes it."""

    def __init__(
        self, id_: str, person: str, interview: Interview, events: list[dict[str, Any]], begun_by: str | None
    ) -> None:
        self.id, self.person, self.interview, self.events = id_, person, interview, events
        self.begun_by = begun_by  # a key that may give preferences; None before version 0.3
        self.lock = asyncio.Lock()

    def next_question(self) -> Question | None:
        """The question that is out, or a new one; None when enough was asked."""
        try:
            question = self.interview.ask()
        except NotNow:
            return None
        event = {"ask": question.as_json()}
        if event not in self.events:
            self.events.append(event)
        return question

    def answered(self, question: int) -> Question | None:
        """A question that has an answer; None if there is none of this number."""
        return next((one for one, _ in self.interview.answers if one.id == question), None)

    def answer(self, question: int, side: str) -> None:
        """Take an answer; another one to the same question replaces it."""
        told = {one.id: answer for one, answer in self.interview.answers}
        if told.get(question) == side:
            return  # a repeated call
        verb = "revise" if question in told else "tell"
        getattr(self.interview, verb)(question, side)
        self.events.append({verb: question, "answer": side})


async def start(service: Service, person: str, call: StartInterview, key: Key) -> dict[str, Any]:
    """Begin to ask a person."""
    service.precompiler.require_done()
    seed = secrets.randbits(63) if call.seed is None else call.seed
    settings = {**call.model_dump(), "seed": seed, "person": person, "begun_by": key.id}
    id_ = secrets.token_hex(8)
    with service.interview_threads.place(MOST_BEGINNINGS):

        def begun() -> tuple[Conversation, dict[str, Any]]:
            new = Conversation(id_, person, _made(settings), [], key.id)
            return new, _shown(new, new.next_question())

        talk, shown = await service.interview_threads.run(begun)

        def writing(connection: Connection) -> None:
            entries = {"id": id_, "person": person, "settings": json.dumps(settings)}
            new = {**entries, "events": json.dumps(talk.events), "changed_at": time.time()}
            connection.execute(insert(interviews).values(new))

        await service.change(writing)
        await service.write([audited(key, "interview", person, id_)])
        _keep(service, talk)
        return shown


async def show(service: Service, id_: str, question: int | None = None) -> dict[str, Any]:
    """Where an interview is; or a question that was answered, whose answer may change."""
    with service.interview_threads.place():
        talk = await _talk(service, id_)
        async with talk.lock:
            if question is None:
                return await service.interview_threads.run(lambda: _shown(talk, talk.next_question()))
            again = talk.answered(question)
            if again is None:
                raise not_found("a question to go back to", question, "Leave it out for the next one.")
            return await service.interview_threads.run(lambda: _shown(talk, again))


async def answer(service: Service, id_: str, call: AnswerQuestion, key: Key) -> dict[str, Any]:
    """Take an answer, and give the next question; the last answer gives the person her preference."""
    with service.interview_threads.place():
        talk = await _talk(service, id_)
        if talk.begun_by is None and "manage" not in key.scopes:
            raise Refused(403, "this interview was begun with a key that may not give preferences. Begin another.")

        def answered() -> Question | None:
            talk.answer(call.question, call.answer)
            return talk.next_question()

        async with talk.lock:
            with refusing():
                question = await service.interview_threads.run(answered)
            preference = None
            if question is None:
                preference = await service.interview_threads.run(lambda: talk.interview.preference)

            def writing(connection: Connection) -> None:
                entries = {"events": json.dumps(talk.events), "changed_at": time.time()}
                if not connection.execute(update(interviews).where(interviews.c.id == id_).values(entries)).rowcount:
                    raise not_found("an interview", id_, "Start one.")  # it was erased meanwhile
                if preference is not None:
                    fitted_in = {"unit": talk.interview.unit, "stakes": list(talk.interview.stakes)}
                    put_person(connection, talk.person, preference, f"interview {id_}", fitted_in)

            try:
                await service.change(writing)
            except BaseException:
                service.interviews.pop(id_, None)  # it is ahead of the database
                raise
            service.people.forget(talk.person)
            if preference is not None:
                await service.write([audited(key, "put person", talk.person, f"interview {id_}")])
            return await service.interview_threads.run(lambda: _shown(talk, question))


async def _talk(service: Service, id_: str) -> Conversation:
    if (found := service.interviews.get(id_)) is not None:
        return found
    wanted = select(interviews).where(interviews.c.id == id_)
    row = await service.read(lambda connection: connection.execute(wanted).one_or_none())
    if row is None:
        raise not_found("an interview", id_, "Start one.")
    service.precompiler.require_done()
    begun_by = json.loads(row.settings).get("begun_by")

    def again() -> Interview:
        interview = _made(json.loads(row.settings))
        for event in json.loads(row.events):
            interview.apply(event)
        return interview

    interview = await service.interview_threads.run(again)
    talk = Conversation(id_, row.person, interview, json.loads(row.events), begun_by)
    _keep(service, talk)
    return service.interviews[id_]


def _keep(service: Service, talk: Conversation) -> None:
    service.interviews.setdefault(talk.id, talk)
    while len(service.interviews) > MOST:
        service.interviews.pop(next(iter(service.interviews)))


def _made(settings: dict[str, Any]) -> Interview:
    try:
        low, high = settings["stakes"]
        family = family_named(settings["family"], (low, high), reference=settings["reference"], costs=settings["costs"])
        names = ("questions", "checks", "unit", "seed", "person")
        return Interview(family, stakes=(low, high), **{name: settings[name] for name in names})
    except ValueError as error:
        raise Refused(422, str(error)) from None
    except ArithmeticError as error:  # of stakes that are almost nothing beside the reference
        raise Refused(422, f"stakes must be far enough apart; these are not ({error}). Give others.") from None


def _shown(talk: Conversation, question: Question | None) -> dict[str, Any]:
    interview = talk.interview
    answers = interview.answers
    before = [one.id for one, _ in answers]
    place = before.index(question.id) if question is not None and question.id in before else len(answers)
    asked = None
    if question is not None:
        a, b = ([list(pair) for pair in zip(one.outcomes.tolist(), one.probabilities.tolist(), strict=True)]
                for one in question.options)  # fmt: skip
        given = None if place == len(answers) else answers[place][1]
        asked = {
            "id": question.id, "number": place + 1, "wording": question.wording, "a": a, "b": b, "given": given,
        }  # fmt: skip
    known = to_spec(interview.preference) if answers else None
    return {
        "id": talk.id, "person": talk.person, "answered": len(answers), "questions": interview.questions,
        "settled": question is None or interview.settled, "question": asked,
        "previous": answers[place - 1][0].id if place else None, "preference": known,
    }  # fmt: skip


A_TOKEN = re.compile(r"^[A-Za-z0-9_-]{43}$")
NONE = Refused(404, "a link must be valid; this one is unknown, expired or revoked. Ask for another.")


async def make(service: Service, interview: str, lasts: float, key: Key) -> dict[str, Any]:
    """A new link to an interview; its token is in this answer and nowhere else."""
    await show(service, interview)  # refuses what does not exist
    token, now = secrets.token_urlsafe(32), time.time()
    entries = {
        "digest": digest_of(token), "interview": interview, "key": key.id, "created_at": now, "expires_at": now + lasts,
    }  # fmt: skip
    await service.change(lambda connection: connection.execute(insert(interview_links).values(entries)) and None)
    await service.write([audited(key, "make link", interview, {"expires_at": now + lasts})])
    return {"token": token, "path": f"/answer/{token}", "expires_at": now + lasts}


async def revoke(service: Service, interview: str, key: Key) -> None:
    """Revoke all links to an interview; repeating it is harmless."""

    def revoking(connection: Connection) -> int:
        these = (interview_links.c.interview == interview, interview_links.c.revoked_at.is_(None))
        return connection.execute(update(interview_links).where(*these).values(revoked_at=time.time())).rowcount

    if await service.change(revoking):
        await service.write([audited(key, "revoke links", interview)])


async def admit(service: Service, token: str, address: str) -> tuple[str, Key]:
    """The interview that a token opens, and the key that made its link."""
    found = None
    if A_TOKEN.match(token):
        wanted = select(interview_links).where(interview_links.c.digest == digest_of(token))
        found = await service.read(lambda connection: connection.execute(wanted).one_or_none())
    if found is None:
        service.ring.wrong.take(address)
        raise NONE
    maker = service.ring.made_by(found.key)
    if maker is None or found.revoked_at is not None or found.expires_at <= time.time():
        raise NONE
    service.answering.take(found.digest)
    return str(found.interview), maker
