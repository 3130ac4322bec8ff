"""The HTTPS server: TLS, requests, responses and watch streams."""

import asyncio
import logging
import ssl
from collections.abc import Mapping

from aiohttp import web

from kubernetes_sandbox import (
    api_request,
    authorization,
    errors,
    list_options,
    non_resource_paths,
    responses,
)
from kubernetes_sandbox.api_request import Request, Target
from kubernetes_sandbox.authentication import MASTERS, Authenticator
from kubernetes_sandbox.authorization import (
    AuthorizationAttributes,
    Authorizer,
)
from kubernetes_sandbox.fault_injection import FaultInjector
from kubernetes_sandbox.handlers import Handlers
from kubernetes_sandbox.kinds import Kind, KindRegistry
from kubernetes_sandbox.responses import Response
from kubernetes_sandbox.store import Store
from kubernetes_sandbox.watch import Watcher, WatchOptions

LOG = logging.getLogger(__name__)
_MAX_BODY_BYTES = 3 * 2**20
#: Time for a closing connection to finish.
_CLOSE_TIMEOUT_S = 0.05


class Server:
    """Serves one cluster on one socket."""

    def __init__(
        self,
        store: Store,
        kinds: KindRegistry,
        handlers: Handlers,
        authenticator: Authenticator,
        authorizer: Authorizer,
        fault_injector: FaultInjector,
    ) -> None:
        self._store = store
        self._kinds = kinds
        self._handlers = handlers
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._fault_injector = fault_injector
        self._watchers: set[Watcher] = set()
        self._web: web.Server | None = None
        self._listener: asyncio.Server | None = None
        self._address: tuple[str, int, ssl.SSLContext] | None = None
        self._resume_task: asyncio.Task[None] | None = None
        self.address = ""

    @property
    def open_watches(self) -> int:
        """The number of open watches."""
        return len(self._watchers)

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Listen; return the port."""
        loop = asyncio.get_running_loop()
        self._web = web.Server(self._serve, access_log=None)
        self._listener = await loop.create_server(
            self._web,
            host,
            port,
            ssl=tls,
            backlog=512,
            ssl_shutdown_timeout=_CLOSE_TIMEOUT_S,
        )
        bound: int = self._listener.sockets[0].getsockname()[1]
        self._address = (host, bound, tls)
        self.address = f"{host}:{bound}"
        return bound

    def stop_for(self, seconds: float) -> None:
        """Stop listening, and listen again after some seconds."""
        self._resume_task = asyncio.create_task(self._suspend_for(seconds))

    async def _suspend_for(self, seconds: float) -> None:
        await asyncio.sleep(_CLOSE_TIMEOUT_S)  # after the response
        await self.suspend()
        await asyncio.sleep(seconds)
        await self.resume()

    async def suspend(self) -> None:
        """Close the socket, as an API server that restarts."""
        await self._close()

    async def resume(self) -> None:
        """Listen again on the same address."""
        assert self._address is not None
        await self.start(*self._address)

    async def stop(self) -> None:
        """Close the socket for good."""
        if self._resume_task is not None:
            self._resume_task.cancel()
        await self._close()

    async def _close(self) -> None:
        """End all watches and close all connections."""
        for watcher in tuple(self._watchers):
            watcher.end()
        if self._listener is None or self._web is None:
            return
        self._listener.close()
        self._listener = None
        await asyncio.sleep(0)
        transports = [each.transport for each in self._web.connections]
        await self._web.shutdown(_CLOSE_TIMEOUT_S)
        for transport in transports:
            if transport is not None:
                transport.abort()  # without a TLS shutdown
        # Wait for connections that were closing before.
        await asyncio.sleep(_CLOSE_TIMEOUT_S * 1.5)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            request_info = await self._read(request)
            target = self._authorized(request_info)
            if target is not None and _is_watch(request_info, target):
                return await self._watch(request, request_info, target)
            response = self._respond(request_info, target)
            for warning in request_info.warnings:
                response.headers["Warning"] = f'299 - "{warning}"'
        except errors.ApiError as error:
            response = responses.of_error(error)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            LOG.exception(
                "Request failed: %s %s", request.method, request.path_qs
            )
            response = responses.of_error(
                errors.ApiError(500, "InternalError", "internal error")
            )
        return web.Response(
            body=response.body,
            status=response.status,
            headers={
                "Content-Type": response.content_type,
                **response.headers,
            },
        )

    async def _read(self, request: web.BaseRequest) -> Request:
        transport = request.transport
        certificate: Mapping[str, object] | None = None
        if transport is not None:
            certificate = transport.get_extra_info("peercert")
        user = self._authenticator.identify(request.headers, certificate)
        body = await request.read() if request.body_exists else b""
        if len(body) > _MAX_BODY_BYTES:
            raise errors.ApiError(
                413,
                "RequestEntityTooLarge",
                f"Request entity too large: limit is {_MAX_BODY_BYTES}",
            )
        return Request(
            method=request.method,
            path=request.path,
            query=request.query,
            headers=request.headers,
            body=body,
            user=user,
        )

    def _authorized(self, request_info: Request) -> Target | None:
        if non_resource_paths.is_non_resource_path(request_info.path):
            if not self._authorizer.is_path_allowed(
                request_info.user, request_info.path
            ):
                raise authorization.path_forbidden_error(
                    request_info.user,
                    request_info.method.lower(),
                    request_info.path,
                )
            return None
        target = api_request.target_of_path(request_info.path, self._kinds)
        if target is None:
            is_admin = MASTERS in request_info.user.groups
            if is_admin and _is_unknown_group(request_info.path, self._kinds):
                return None
            raise self._unknown_resource(request_info)
        action = AuthorizationAttributes(
            verb=api_request.verb_of(request_info, target),
            group=target.kind.group,
            resource=target.resource,
            namespace=target.namespace or _own_namespace(target),
            name=target.name or _selected_name(request_info),
        )
        if not self._authorizer.is_allowed(request_info.user, action):
            raise authorization.forbidden_error(request_info.user, action)
        return target

    def _unknown_resource(self, request_info: Request) -> errors.ApiError:
        """Return the 403 of a user without access, or a 404."""
        attributes = _attributes_of_path(request_info)
        if not self._authorizer.is_allowed(request_info.user, attributes):
            return authorization.forbidden_error(request_info.user, attributes)
        return errors.no_such_resource()

    def _respond(
        self, request_info: Request, target: Target | None
    ) -> Response:
        if target is not None:
            return self._handlers.handle(
                api_request.verb_of(request_info, target), request_info, target
            )
        if request_info.path.startswith("/sandbox/"):
            return self._fault_injector.handle(request_info)
        return non_resource_paths.respond(
            self._kinds, request_info.path, self.address
        )

    async def _watch(
        self, request: web.BaseRequest, request_info: Request, target: Target
    ) -> web.StreamResponse:
        if "watch" not in target.kind.verbs:
            raise errors.method_not_allowed()
        query = request_info.query
        list_options.check(query)
        options = WatchOptions.read(
            target.kind, target.namespace, query, request_info.accept
        )
        watcher = Watcher(self._store, options)
        response = web.StreamResponse(
            headers={"Content-Type": "application/json"}
        )
        watcher.begin()
        self._watchers.add(watcher)
        try:
            await response.prepare(request)
            await self._stream(response, watcher, options.seconds)
        except ConnectionError:  # The client closed the watch.
            LOG.debug("Watch closed by the client: %s", target.kind.plural)
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
        while (remaining := end - loop.time()) > 0:
            lines = await watcher.lines(remaining)
            if lines is None:
                return
            if lines:
                await response.write(lines)


def _attributes_of_path(request_info: Request) -> AuthorizationAttributes:
    """Return the attributes of a request for an unknown resource."""
    parts = request_info.path.strip("/").split("/")
    group, rest = (
        ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    )
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    kind = Kind(
        group, "", rest[0], "", namespaced=bool(namespace), singular=""
    )
    target = Target(kind, namespace, name)
    return AuthorizationAttributes(
        verb=api_request.verb_of(request_info, target),
        group=group,
        resource=rest[0],
        namespace=namespace,
        name=name,
    )


def _is_unknown_group(path: str, kinds: KindRegistry) -> bool:
    parts = path.strip("/").split("/")
    return parts[0] == "apis" and parts[1] not in kinds.groups()


def _selected_name(request_info: Request) -> str:
    """Return the name that the field selector of a list requires."""
    field, _, name = request_info.query.get("fieldSelector", "").partition("=")
    return name if field == "metadata.name" else ""


def _own_namespace(target: Target) -> str:
    return target.name if target.kind.key == "namespaces." else ""


def _is_watch(request_info: Request, target: Target) -> bool:
    if request_info.method != "GET" or target.sub is not None:
        return False
    return not target.name and list_options.is_watch(request_info.query)
