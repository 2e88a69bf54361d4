"""The registry of services: a name stands for `module:OBJECT`; outsiders give that string themselves."""

from functools import cache
from importlib import import_module

from journeyman.errors import UserError
from journeyman.services.definition import ServiceDefinition

SERVICES = {
    "documents": "journeyman.services.definitions.documents:DOCUMENTS",
    "calendar": "journeyman.services.definitions.calendar:CALENDAR",
    "mailbox": "journeyman.services.definitions.mailbox:MAILBOX",
    "crm": "journeyman.services.definitions.crm:CRM",
    "property": "journeyman.services.definitions.property:PROPERTY",
    "grc": "journeyman.services.definitions.grc:GRC",
    "mes": "journeyman.services.definitions.mes:MES",
    "tms": "journeyman.services.definitions.tms:TMS",
    "wms": "journeyman.services.definitions.wms:WMS",
    "erp": "journeyman.services.definitions.erp:ERP",
    "ticketing": "journeyman.services.definitions.ticketing:TICKETING",
}


@cache
def load_service(name: str) -> ServiceDefinition:
    """The definition behind a registry name or a `module:OBJECT` string. Raises UserError naming the known ones."""
    target = SERVICES.get(name, name)
    module, _, attribute = target.partition(":")
    if not attribute:
        raise UserError(f"unknown service {name!r}; known: {', '.join(SERVICES)}, or give module:OBJECT")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"service {name!r} cannot be loaded: {error}") from error
    if not isinstance(found, ServiceDefinition):
        raise UserError(f"service {name!r} is a {type(found).__name__}, not a ServiceDefinition")
    return found
