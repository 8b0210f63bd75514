"""The referee's checker of a certificate: one file, written from the derivations and not from the package.

Run ``python -m robustpool.referee CERT.json``, or copy this file: it needs python-flint and nothing of robustpool.
Given a binary state and what all n agents saw, they are independent; mu is the prior after it. The regret E D, with g
the posterior given all signals and D = (f - g)^2 (square loss) or g log(g/f) + (1 - g) log((1 - g)/(1 - f)) (log loss),
is a mean over what all saw: bound it at each mu. If m = logit mu, t = logit g, the sum of the reports' log-odds is s =
t + (n - 1) m. As E g = mu, f = phi(s) has regret at most B if for some kappa

    F = D + L <= 0  for all g in [0, 1],  where  L = -B - kappa (g/mu - 1)  and  1/mu = 1 + e^-m.                (1)

With z = logit f and S(x) = log(1 + e^x) the D of the log loss is S(z) - S(t) - g (z - t), so that its derivatives are
f - g in z and g (1 - g) (t - z) in t.

Exit status 0: all bounds that can be checked here hold. Status 1: one sentence says why not. Numbers are doubles, read
as the rationals they are, or fractions as text. Balls (arb): a comparison is true only if it holds for all points.
"""

import json
import re
import sys
from fractions import Fraction
from itertools import product
from math import comb, inf, isfinite, prod
from typing import Any

from flint import arb, ctx, fmpq

UNCHECKED = (
    "This kind is not checked: only additive regrets of independent agents, square or log loss (unanimous: square)."
)
BYTES, AGENTS, NODES, BOXES, BITS = 5_000_000, 100, 10_000, 60_000, 4_000_000  # limits; BITS: fractions of a mixture
Rule = tuple[fmpq, ...]  # (a, b, k, shift, c): logit phi = Phi = s (a + b tanh(s/k)^2) - c tanh(s/k) - shift


def require(holds: object, sentence: str) -> None:
    if not holds:
        raise SystemExit(sentence)  # Python prints the sentence and ends with status 1


def number(value: Any) -> fmpq:
    if type(value) is str and re.fullmatch("-?[0-9]{1,1000}(/[0-9]{1,1000})?", value):
        value = Fraction(value)
    require(type(value) in {int, float, Fraction} and abs(value) < 10**300, "A number is not finite, or no number.")
    return fmpq(*value.as_integer_ratio())


def sigma(z: arb) -> arb:
    return (1 / (1 + (-z.lower()).exp())).union(1 / (1 + (-z.upper()).exp()))  # it increases


def softplus(x: arb) -> arb:
    return (1 + x.exp()).log()  # S


def log_odds(rule: Rule, s: arb) -> tuple[arb, arb, arb]:
    """Phi, Phi' and Phi''. With h = tanh(s/k), h' = (1 - h^2)/k and h'' = -2 h h'/k; Phi and h increase."""
    (a, b, k, shift, c), low, high = map(arb, rule), s.lower(), s.upper()
    h0, h1 = ((x / k).tanh() if rule[1] != 0 or rule[4] != 0 else arb(0) for x in (low, high))
    z, h = (low * (a + b * h0 * h0) - c * h0).union(high * (a + b * h1 * h1) - c * h1) - shift, h0.union(h1)
    dh = (1 - h * h) / k
    return z, a + b * h * (h + 2 * s * dh) - c * dh, 2 * dh * (b * (2 * h + s * (1 - 3 * h * h) / k) + c * h / k)


def forecast(rule: Rule, s: arb) -> tuple[arb, arb, arb]:
    """phi, phi' and phi''."""
    z, first, second = log_odds(rule, s)
    f = sigma(z)
    return f, f * (1 - f) * first, f * (1 - f) * (second + (1 - 2 * f) * first * first)


def line(B: arb, kappa: Any, m: arb, g: arb) -> tuple[arb, arb, arb]:
    """L and its derivatives in m and g; kappa(m) comes with its derivative."""
    (slope, change), e = kappa(m), (-m).exp()
    return -B - slope * (g * (1 + e) - 1), slope * g * e - change * (g * (1 + e) - 1), -slope * (1 + e)


def prove(n: int, B: arb, pieces: list[Any], known: tuple[float, ...] = (1, 0, 1, 0), log: bool = False) -> None:
    """F < 0 on all pieces (rule, kappa, m from, m to, t from) outside a known box (m from, m to, t from, t to).
    Tails of the log loss, t < -1: D <= S(z) + g |t - z|. S(z) increases with t, g < e^t, |z| <= (a + b) |s| + |shift|,
    and x e^-x decreases from x = 1 on: what holds at the edge holds beyond. If t > 1, the same with -z, -t, 1 - g."""
    boxes, stack = 0, [(*p[:4], *t) for p in pieces for t in ((p[4], -8.0), (-8.0, 8.0), (8.0, inf))]
    while stack:
        rule, kappa, m0, m1, t0, t1 = stack.pop()
        mid, cut, m, t = (m0 + m1) / 2, (t0 + t1) / 2, arb(m0).union(arb(m1)), arb(t0).union(arb(t1))
        c, u, boxes = arb(mid), arb(cut), boxes + 1
        if isfinite(cut):  # on the box, F lies in F(centre) + gradient(box) (box - centre)
            (f, df, _), g, v = forecast(rule, t + (n - 1) * m), sigma(t), sigma(u)
            centre, dg = forecast(rule, u + (n - 1) * c)[0] - v, g * (1 - g)
            d = (f - g).intersection(centre + (n - 1) * df * (m - c) + (df - dg) * (t - u))  # f - g, enclosed twice
            (z, dz, _), y = log_odds(rule, t + (n - 1) * m), log_odds(rule, u + (n - 1) * c)[0]
            D, ds, by_t = centre * centre, 2 * d * df, 2 * d * (df - dg)
            if log:
                D, ds, by_t = softplus(y) - softplus(u) - v * (y - u), d * dz, d * dz + dg * (t - z)
            value, (_, lm, lg) = D + line(B, kappa, c, v)[0], line(B, kappa, m, g)
            dm, dt = ((n - 1) * ds + lm) * (m - c), (by_t + lg * dg) * (t - u)
            done, halve_t = value + dm + dt < 0, not dm.abs_upper() > dt.abs_upper()
        else:  # f and g lie between their limit, 0 or 1, and their values at the edge of the tail; L is linear in g
            limit, edge, far = (arb(0), t1, m1) if t0 == -inf else (arb(1), t0, m0)
            s, g, value = arb(edge) + (n - 1) * arb(far), sigma(arb(edge)), line(B, kappa, c, limit)[0]
            ends = [line(B, kappa, c, x)[0] + line(B, kappa, m, x)[1] * (m - c) for x in (limit, g)]
            sides = [(x - limit) * (x - limit) for x in (forecast(rule, s)[0], g)]
            if log:
                z, size = log_odds(rule, s)[0], abs(arb(edge))
                both = size + arb(rule[0] + rule[1]) * (size + (n - 1) * m.abs_upper()) + abs(arb(rule[3]))  # |t| + |z|
                sides = [softplus(-z if edge > 0 else z) + (-size).exp() * both]
            done = all(end + side < 0 for end in ends for side in sides)
            halve_t, cut = ends[0] < 0, 2 * edge  # then a tail that begins farther out will do
        require(boxes < BOXES and not value > 0, f"The upper bound is not shown at prior log-odds {mid:.6g}.")
        halves = ((m0, m1, t0, cut), (m0, m1, cut, t1)) if halve_t else ((m0, mid, t0, t1), (mid, m1, t0, t1))
        inside = known[0] <= m0 and m1 <= known[1] and known[2] <= t0 and t1 <= known[3]
        stack += [] if done or inside else [(rule, kappa, *half) for half in halves]


def theorem(rule: Rule, n: int, bound: fmpq) -> None:
    """Two agents, a = 1/2, k = 4: B = V = (5 sqrt 5 - 11)/8 will do. By symmetry mu <= 1/2 is enough.
    Up to mu = 1/4 or so kappa = V, and (1) says H = (mu/g) (f - g)^2 <= V; beyond, kappa = (7/40) mu (1 - 2 mu).
    Small mu: if f <= g, H <= mu g <= mu. If f > g and s <= 0, then f^2 <= e^(2 Phi) <= e^s = e^m g/(1 - g) and 1 - g >=
    mu, so H <= mu e^m/(1 - g) <= e^m. If f > g and s > 0, g > 1 - mu >= 1/2 and H <= (mu/g) (1 - g)^2 <= mu/2 <= e^m.
    Small g: if f <= g, H <= mu g. Else H <= e^(2 Phi) mu/g; its logarithm has the derivatives 2 Phi' + 1 - mu > 0 in m
    and, as Phi' >= 1/2, 2 Phi' - 1 + g > 0 in t. So the corner with the largest mu and g is the worst.
    Contact: mu = (3 - sqrt 5)/4 has mu^2 - 3/2 mu + 1/4 = 0. At g = 1 - mu: s = 0, f = 1/2, f' = 1/8, d = g - f = 1/2 -
    mu, d^2 = mu/2, H = mu^2/(2 (1 - mu)) = V, and log H = log mu - log g + 2 log d has the derivatives 1 - mu - 2 f'/d
    = 0 in m and g - 1 + 2 (g (1 - g) - f')/d = 0 in t. If its Hessian is negative definite around it, H <= V."""
    same = (rule[0], *rule[2:]) == (fmpq(1, 2), fmpq(4), fmpq(0), fmpq(0))
    fits = n == 2 and same and fmpq(2, 25) <= rule[1] <= fmpq(9, 10)
    require(fits, "The theorem is for two agents, a = 1/2, k = 4 and b from 0.08 to 0.9.")
    require(bound > 0 and (8 * bound + 11) ** 2 >= 125, "The upper bound is less than (5 sqrt 5 - 11)/8.")
    V, star, start, end, left = (5 * arb(5).sqrt() - 11) / 8, (3 - arb(5).sqrt()) / 4, -3.8, -1.1, -16.0
    f, mu, g = forecast(rule, arb(end) + arb(left))[0], sigma(arb(end)), sigma(arb(left))
    small = arb(start).exp() <= V and mu * g <= V and (f / (1 - f)) * (f / (1 - f)) * mu / g <= V
    m0, m1, t0, t1 = -1.5625, -1.3125, 1.3125, 1.5625  # around the contact point, m = logit mu and t = -m
    inside = all(sigma(arb(x)) < star < sigma(arb(y)) for x, y in ((m0, m1), (-t1, -t0)))
    require(small and inside, "The theorem is not shown for small priors or posteriors.")
    for m, t in product(*([arb(x + i / 64, 1 / 64) for i in range(1, 16, 2)] for x in (m0, t0))):
        (f, df, ddf), mu, g = forecast(rule, m + t), sigma(m), sigma(t)
        d, dg = g - f, g * (1 - g)
        x, y, z = df / d, (dg - df) / d, 2 * ddf / d
        mm, mt, tt = -mu * (1 - mu) - z - 2 * x * x, 2 * x * y - z, dg + 2 * dg * (1 - 2 * g) / d - z - 2 * y * y
        require(d > 0 and mm < 0 and mm * tt - mt * mt > 0, "The Hessian is not shown to be negative definite.")
    beyond = lambda m: (7 * (p := sigma(m)) * (1 - 2 * p) / 40, 7 * p * (1 - p) * (1 - 4 * p) / 40)
    pieces = [(rule, lambda _: (V, arb(0)), start, end, left), (rule, beyond, end, 0.0, -inf)]
    prove(2, V, pieces, (m0, m1, t0, t1))


def smaller(rule: Rule, n: int, m: arb, kappa: arb, B: arb) -> bool:
    """Log loss: do priors nu < mu inherit kappa from mu? At the same g the forecast is e <= f. If e >= g, D(e) <= D(f),
    as in `slopes`. If e < g, D <= g log(g/e), and log(g/e) <= w log(1/g) + A (n - 1) |logit nu| + |shift| + log 2, with
    A = a + b, w = max(A - 1, 0): if t <= 0, log(g/e) <= t - logit e; if t > 0, log(1/e) <= log 2 + max(-logit e, 0). So
    g (w log(1/g) - P) <= B - kappa will do, P = kappa/nu - A (n - 1) |logit nu| - |shift| - log 2. P falls with nu as
    kappa >= A (n - 1) nu/(1 - nu). So P at mu will do, and the largest value over g is w e^(-1 - P/w)."""
    A, shift = rule[0] + rule[1], abs(arb(rule[3]))
    P, w = kappa * (1 + (-m).exp()) - arb(A) * (n - 1) * abs(m) - shift - arb(2).log(), arb(A - 1)
    enough = P >= 0 if A <= 1 else w * (-1 - P / w).exp() <= B - kappa
    return bool(m < 0 and kappa >= arb(A) * (n - 1) * m.exp() and enough)


def slopes(rule: Rule, n: int, low: fmpq, high: fmpq, B: arb, witness: Any, log: bool = False) -> None:
    """(1) with polygons kappa(m). Priors above 1/2 are those below 1/2 of the mirrored rule 1 - phi(-s)."""
    sides, pieces, half, above = {}, [], fmpq(1, 2), "above" if rule[3] != 0 or "above" in witness else "below"
    if low < half or high == half:
        sides["below"] = (rule, low, min(high, half))
    if high > half:
        mirrored = (*rule[:3], -rule[3], rule[4])
        sides[above] = (mirrored, min(1 - high, low if above in sides else half), min(1 - low, half))
    for side, (phi, first, last) in sides.items():
        logits, kappas = ([float(arb(number(x))) for x in witness[side][key][:NODES]] for key in ("logits", "kappas"))
        require(sorted({*logits}) == logits and len(kappas) == len(logits) > 1, "The nodes are not in order.")
        mu, kappa, top = sigma(arb(logits[0])), arb(kappas[0]), sigma(arb(logits[-1]))
        # Square loss: priors nu < mu inherit kappa >= mu from the first node, where (1) at g = 0 says kappa <= B. At
        # the same g the forecast is e <= f. If e >= g, (e - g)^2 <= (f - g)^2 <= B + kappa (g/mu - 1) <= B + kappa
        # (g/nu - 1). If e < g, (e - g)^2 <= g <= kappa g/nu <= B + kappa (g/nu - 1).
        inherits = smaller(phi, n, arb(logits[0]), kappa, B) if log else mu <= kappa
        starts = mu <= arb(first) if first > 0 else inherits
        require(starts and top >= arb(last), "The slopes do not cover the range of the priors from end to end.")
        for m0, m1, k0, k1 in zip(logits[:-1], logits[1:], kappas[:-1], kappas[1:], strict=True):
            d = (arb(k1) - k0) / (arb(m1) - m0)
            pieces.append((phi, lambda m, m0=m0, k0=k0, d=d: (k0 + d * (m - m0), d), m0, m1, -inf))
    prove(n, B, pieces, log=log)


def regret(rule: Rule, mixture: Any, n: int, low: fmpq, high: fmpq, unanimous: bool = False, log: bool = False) -> Any:
    """The rule's expected regret under a mixture or, without a rule, the least that any aggregator can have.
    Let structures give the profile x and state 1 (or 0) the weights p (or q), and P = sum p, Q = sum q. Forecasting f
    costs P (1 - f)^2 + Q f^2 - sum pq/(p + q), or, under the log loss, -P log f - Q log(1 - f) + sum p log(p/(p + q)) +
    q log(q/(p + q)); both are least at f = P/(P + Q). If a report is 0 or 1, f = g and pq = 0. If all
    report p, a unanimous f lies between p and the end of [0, 1] that is nearer to p. Counted agents come in every order
    with equal weights, so that only the multiset x counts; the rule and the posterior do not depend on the order."""
    total, bits, table, costs = fmpq(0), 0, dict[Any, Any](), []
    require(len({"agents" in entry for entry in mixture}) < 2, "Agents are counted in some entries and not in others.")
    for entry in mixture:
        w, mu, pairs = number(entry["weight"]), number(entry["prior"]), [[*map(number, x)] for x in entry["reports"]]
        proper = w > 0 and 0 < mu < 1 and low <= mu <= high and all(0 <= a <= mu <= b <= 1 for a, b in pairs)
        counts, types = entry.get("agents", [1] * len(pairs)), []  # types: reports of m agents, chances in both states
        whole = all(type(m) is int and m > 0 for m in counts) and sum(counts) == n and len(counts) == len(pairs)
        require(proper and whole, "A mixture has a structure that is not in the family.")
        length = 100 + sum(m * x.q.bit_length() for m, pair in zip(counts, pairs, strict=True) for x in (w, mu, *pair))
        bits, total = bits + prod(m + 1 for m in counts) * length, total + w
        require(bits < (3 * BITS if rule else BITS), "The fractions of a mixture are too many or too long.")
        for (a, b), m in zip(pairs, counts, strict=True):
            c, highs = ((mu - a) / (b - a), range(m + 1)) if a < b else (fmpq(1), (m,))
            ways = [((b,) * k + (a,) * (m - k), comb(m, k) * c**k * (1 - c) ** (m - k)) for k in highs]
            types.append([(x, q * prod(y / mu for y in x), q * prod((1 - y) / (1 - mu) for y in x)) for x, q in ways])
        for parts in product(*types):
            x, p, q = sum((t[0] for t in parts), ()), w * mu * prod(t[1] for t in parts), prod(t[2] for t in parts)
            if p * q != 0:
                weights, key = (p, w * (1 - mu) * q), tuple(sorted(x)) if "agents" in entry else x
                table.setdefault(key, []).append((*map(arb, weights),) if rule or log else weights)
    require(total == 1, "The weights of a mixture do not sum to 1.")
    for x, cell in table.items():
        P, Q = (sum(column[1:], column[0]) for column in zip(*cell, strict=True))
        f = forecast(rule, arb(prod(r / (1 - r) for r in x)).log())[0] if rule else P / (P + Q)
        if log:
            costs.append(-P * f.log() - Q * (1 - f).log())
            costs += [p * (p / (p + q)).log() + q * (q / (p + q)).log() for p, q in cell]
            continue
        f = x[0] if unanimous and len({*x}) == 1 and (f - x[0]) * (2 * x[0] - 1) < 0 else f
        costs.append(P * (1 - f) * (1 - f) + Q * f * f - sum(p * q / (p + q) for p, q in cell))
    return sum(costs)


def main(path: str) -> str:
    """What the certificate in a file shows, in sentences. Decimals stand for the doubles that they name."""
    with open(path, "rb") as file:  # noqa: PTH123
        raw = file.read(BYTES + 1)
    require(len(raw) <= BYTES, "The file is longer than 5 MB.")
    data = json.loads(raw, object_pairs_hook=lambda x: dict(x) if len(dict(x)) == len(x) else None)
    family, phi, rule, ctx.prec = data["family"], data["aggregator"].get("phi"), Rule(), 80
    ours, loss = ["robustpool-certificate/2", "conditionally-independent", "additive"], data["loss"]
    known = loss == "square" or (loss == "log" and "unanimous" not in data)
    require(known and [data["format"], family["kind"], data["paradigm"]] == ours, UNCHECKED)
    n, (u, v), (low, high) = family["agents"], family["prior_range"], map(number, family["prior_range"])
    require(type(n) is int and 0 < n <= AGENTS and 0 <= low <= high <= 1, "The family is out of bounds.")
    text, log = f"Agents: {n}, independent given state and public evidence. Prior after it: {u} to {v}. ", loss == "log"
    text += f"{loss.title()} loss.\n"
    if data["aggregator"]["kind"] == "log-odds":
        formula, names = {  # a, b, k, shift, c
            "linear": ("{0} s - ({3})", ("alpha", 0, 1, "shift", 0)),
            "tanh": ("s ({0} + {1} tanh(s/{2})^2)", ("a", "b", "k", 0, 0)),
            "saturating": ("s - {4} tanh(s/{2})", (1, 0, "k", 0, "c")),
        }[phi["form"]]
        values = [phi[name] if type(name) is str else name for name in names]
        a, b, k, _, c = rule = (*map(number, values),)
        increases = a >= 0 and b >= 0 and a + b > 0 and k > 0 and 0 <= c <= a * k
        require(increases, "The rule is not an increasing function of the log-odds.")
        text += f"Rule: logit f = {formula.format(*values)}, where s is the sum of the reports' log-odds.\n"
    anyone = {"value": "every aggregator's", "unanimous": "every unanimous aggregator's"}
    claims = [(part, data[part]) for part in ("upper", "lower", *anyone) if part in data and (rule or part in anyone)]
    require(claims, "There is nothing to check.")
    for part, claim in claims:
        bound, whose = number(claim["bound"]), anyone.get(part, "the rule's")
        if part != "upper":
            whom = Rule() if part in anyone else rule
            shown = regret(whom, claim["mixture"], n, low, high, part == "unanimous", log)
            require(bound <= 0 or shown - bound >= 0, f"The mixture shows less than the {part} bound.")
        elif claim["witness"]["kind"] == "theorem":
            require(not log, "The theorem is for the square loss.")
            theorem(rule, n, bound)
        else:
            slopes(rule, n, low, high, arb(bound), claim["witness"], log)
        text += f"Proved: {whose} worst-case regret is at {'most' if part == 'upper' else 'least'} {claim['bound']}.\n"
    return text if rule else text + "Not checked: upper and lower bounds, as the aggregator is not a log-odds rule.\n"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.stderr.write("usage: python -m robustpool.referee CERT.json\n")
        raise SystemExit(2)
    try:
        sys.stdout.write(main(sys.argv[1]))
    except Exception:  # noqa: BLE001
        raise SystemExit("The file cannot be read, or is no certificate.") from None
