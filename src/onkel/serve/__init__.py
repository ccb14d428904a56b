"""A service that predicts and learns, without losing a row (docs/serve.md).

``onkel serve model.onkel --dir state/`` starts it; `Client` sends requests to it. The service needs ``pip install
'onkel[serve]'``, the client needs no further package.
"""

from onkel.serve._client import Client, ServiceError

__all__ = ["Client", "ServiceError"]
