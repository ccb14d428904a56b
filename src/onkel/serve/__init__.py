"""A service that predicts and learns, and loses nothing (docs/serve.md).

``onkel serve model.onkel --dir state/`` starts it; `Client` speaks to it. The service needs ``pip install
'onkel[serve]'``, the client nothing.
"""

from onkel.serve._client import Client, ServiceError

__all__ = ["Client", "ServiceError"]
