"""The API server's socket: TLS, requests in, answers and watches out."""

import asyncio
import logging
import ssl
from collections.abc import Mapping

from aiohttp import web

from kubernetes_sandbox import (
    answers,
    authorization,
    calls,
    documents,
    errors,
)
from kubernetes_sandbox.answers import Answer
from kubernetes_sandbox.authorization import Action, Authorizer
from kubernetes_sandbox.calls import Call, Target
from kubernetes_sandbox.controls import Controls
from kubernetes_sandbox.handlers import Handlers
from kubernetes_sandbox.identities import Identities
from kubernetes_sandbox.kinds import KindRegistry
from kubernetes_sandbox.store import Store
from kubernetes_sandbox.watch import Watcher, Wish

LOG = logging.getLogger(__name__)
_LARGEST_BODY = 8 * 2**20
#: How long a closing connection may wait for its other end.
_GOODBYE_SECONDS = 0.05


class Server:
    """Serves one cluster on one socket."""

    def __init__(
        self,
        store: Store,
        kinds: KindRegistry,
        handlers: Handlers,
        identities: Identities,
        authorizer: Authorizer,
        controls: Controls,
    ) -> None:
        self._store = store
        self._kinds = kinds
        self._handlers = handlers
        self._identities = identities
        self._authorizer = authorizer
        self._controls = controls
        self._watchers: set[Watcher] = set()
        self._web: web.Server | None = None
        self._listener: asyncio.Server | None = None
        self._place: tuple[str, int, ssl.SSLContext] | None = None
        self._return: asyncio.Task[None] | None = None
        self.address = ""

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Listen; answers the port."""
        loop = asyncio.get_running_loop()
        self._web = web.Server(self._serve, access_log=None)
        self._listener = await loop.create_server(
            self._web,
            host,
            port,
            ssl=tls,
            backlog=512,
            ssl_shutdown_timeout=_GOODBYE_SECONDS,
        )
        bound: int = self._listener.sockets[0].getsockname()[1]
        self._place = (host, bound, tls)
        self.address = f"{host}:{bound}"
        return bound

    def be_away(self, seconds: float) -> None:
        """Go away soon, and come back after some seconds."""
        self._return = asyncio.create_task(self._be_away(seconds))

    async def _be_away(self, seconds: float) -> None:
        await asyncio.sleep(_GOODBYE_SECONDS)  # who asked for it is answered
        await self.leave()
        await asyncio.sleep(seconds)
        await self.come_back()

    async def leave(self) -> None:
        """Close the socket, as an API server does that starts anew."""
        await self._close()

    async def come_back(self) -> None:
        """Listen again where it was."""
        assert self._place is not None
        await self.start(*self._place)

    async def stop(self) -> None:
        """Close for good."""
        if self._return is not None:
            self._return.cancel()
        await self._close()

    async def _close(self) -> None:
        """End the watches and close every connection."""
        for watcher in tuple(self._watchers):
            watcher.end()
        if self._listener is None or self._web is None:
            return
        self._listener.close()
        self._listener = None
        await asyncio.sleep(0)
        transports = [each.transport for each in self._web.connections]
        await self._web.shutdown(_GOODBYE_SECONDS)
        for transport in transports:
            if transport is not None:
                transport.abort()  # no reader is left to say goodbye to
        # Connections that said goodbye before are closed by then.
        await asyncio.sleep(_GOODBYE_SECONDS * 1.5)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            call = await self._read(request)
            target = self._authorized(call)
            if target is not None and _is_watch(call, target):
                return await self._watch(request, call, target)
            answer = self._answer(call, target)
            for warning in call.warnings:
                answer.headers["Warning"] = f'299 - "{warning}"'
        except errors.ApiError as error:
            answer = answers.of_error(error)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            LOG.exception("%s %s", request.method, request.path_qs)
            answer = answers.of_error(
                errors.ApiError(500, "InternalError", "internal error")
            )
        return web.Response(
            body=answer.body,
            status=answer.status,
            headers={"Content-Type": answer.content_type, **answer.headers},
        )

    async def _read(self, request: web.BaseRequest) -> Call:
        transport = request.transport
        certificate: Mapping[str, object] | None = None
        if transport is not None:
            certificate = transport.get_extra_info("peercert")
        user = self._identities.identify(request.headers, certificate)
        body = await request.read() if request.body_exists else b""
        if len(body) > _LARGEST_BODY:
            raise errors.ApiError(
                413, "RequestEntityTooLarge", "Request entity too large"
            )
        return Call(
            method=request.method,
            path=request.path,
            query=request.query,
            headers=request.headers,
            body=body,
            user=user,
        )

    def _authorized(self, call: Call) -> Target | None:
        if documents.is_document(call.path):
            if not self._authorizer.allows_path(call.user, call.path):
                raise authorization.path_refusal(
                    call.user, call.method.lower(), call.path
                )
            return None
        target = calls.target_of(call.path, self._kinds)
        if target is None:
            raise errors.no_such_resource()
        action = Action(
            verb=calls.verb_of(call, target),
            group=target.kind.group,
            resource=target.resource,
            namespace=target.namespace or _own_namespace(target),
            name=target.name,
        )
        if not self._authorizer.allows(call.user, action):
            raise authorization.refusal(call.user, action)
        return target

    def _answer(self, call: Call, target: Target | None) -> Answer:
        if target is not None:
            return self._handlers.handle(
                calls.verb_of(call, target), call, target
            )
        if call.path.startswith("/sandbox/"):
            return self._controls.answer(call)
        return documents.answer(self._kinds, call.path, self.address)

    async def _watch(
        self, request: web.BaseRequest, call: Call, target: Target
    ) -> web.StreamResponse:
        if "watch" not in target.kind.verbs:
            raise errors.method_not_allowed()
        query = dict(call.query)
        if target.name:
            query["fieldSelector"] = f"metadata.name={target.name}"
        wish = Wish.read(target.kind, target.namespace, query, call.accept)
        watcher = Watcher(self._store, wish)
        response = web.StreamResponse(
            headers={"Content-Type": "application/json"}
        )
        watcher.begin()
        self._watchers.add(watcher)
        try:
            await response.prepare(request)
            await self._stream(response, watcher, wish.seconds)
        except ConnectionError:  # the reader is gone, as watchers may
            LOG.debug("a watch of %s was left", target.kind.plural)
        finally:
            watcher.close()
            self._watchers.discard(watcher)
        return response

    @staticmethod
    async def _stream(
        response: web.StreamResponse, watcher: Watcher, seconds: float
    ) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            lines = await watcher.lines(left)
            if lines is None:
                return
            if lines:
                await response.write(lines)


def _own_namespace(target: Target) -> str:
    return target.name if target.kind.key == "namespaces." else ""


def _is_watch(call: Call, target: Target) -> bool:
    if call.method != "GET" or target.sub is not None:
        return False
    return calls.is_true(call.query, "watch")
