"""A model around another: what stays the same."""

from ogcode.agent.model import Model, Prices, sees, thinks


class Around:
    """Bears the name, the window and the prices of the model inside; what is built on it says how it streams."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def enforces(self) -> bool:
        """Whether answers can be made to follow a schema; a model that does not say so can't."""
        return getattr(self._model, "enforces", False) is True

    @property
    def sees(self) -> bool:
        return sees(self._model)

    @property
    def thinks(self) -> bool:
        return thinks(self._model)

    @property
    def window(self) -> int:
        return self._model.window

    @property
    def prices(self) -> Prices | None:
        return self._model.prices
