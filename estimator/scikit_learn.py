"""Learned models as scikit-learn estimators. ``hearsay-ldp[sklearn]`` installs scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from estimator.analyses.models.prediction import predict
from estimator.results.metric import ModelFile
from estimator.statistics.arrays import Floats


class _Learned(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """The base class of classifiers and regressors that are already fitted."""

    def __init__(self, file: ModelFile) -> None:
        self.file = file
        self.feature_names_in_ = np.array([each.name for each in file.learned.inputs], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def fit(self, X: object, y: object = None) -> _Learned:  # noqa: ARG002, N803 as everywhere in scikit-learn
        """Do nothing and return the object itself, because the model is already trained."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _scores(self, X: Any) -> Floats:  # noqa: ANN401, N803 an array or a frame
        rows = X[list(self.feature_names_in_)] if hasattr(X, "columns") else X
        table = np.asarray(rows, dtype=object)
        if table.ndim != 2 or table.shape[1] != self.n_features_in_:  # noqa: PLR2004 rows and columns
            raise ValueError(f"X must have {self.n_features_in_} columns: {', '.join(self.feature_names_in_)}")
        return predict(self.file.learned, list(table.T))


class LearnedClassifier(ClassifierMixin, _Learned):  # type: ignore[misc] # scikit-learn has no types
    """A classifier that predicts "yes" or "no".

    Attributes:
        classes_: the two classes, False for "no" and True for "yes".

    """

    def __init__(self, file: ModelFile) -> None:
        """Create the classifier from a model with a boolean label."""
        super().__init__(file)
        self.classes_ = np.array([False, True])

    def decision_function(self, X: object) -> Floats:  # noqa: N803 as everywhere in scikit-learn
        """Return the log-odds of "yes", shape (rows,)."""
        return self._scores(X)

    def predict_proba(self, X: object) -> Floats:  # noqa: N803 as everywhere in scikit-learn
        """Return the probabilities of "no" and of "yes", shape (rows, 2)."""
        yes = (1 + np.tanh(self._scores(X) / 2)) / 2
        return np.column_stack([1 - yes, yes])

    def predict(self, X: object) -> NDArray[np.bool_]:  # noqa: N803 as everywhere in scikit-learn
        """Return whether "yes" is more likely than "no", shape (rows,)."""
        return self._scores(X) > 0


class LearnedRegressor(RegressorMixin, _Learned):  # type: ignore[misc] # scikit-learn has no types
    """A regressor that predicts the label, a number in the label's unit."""

    def predict(self, X: object) -> Floats:  # noqa: N803 as everywhere in scikit-learn
        """Return the predictions, shape (rows,)."""
        return self._scores(X)
