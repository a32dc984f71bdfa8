# The side of execute_code that runs in Python (3.8 or newer): tools are functions. Frames as code.bash describes them; arguments
# and answers are JSON.
import sys

search_path = sys.path[:]
# A file of the project must not stand in for a module that is needed here.
sys.path[:] = [place for place in search_path if place]
import os
import threading
import types

try:
    from json import dumps, loads
except ImportError:  # A minimal Python has no json.
    dumps = loads = None
sys.path[:] = search_path

own_process = os.getpid()
os.set_inheritable(238, False)
os.set_inheritable(239, False)


class ToolError(Exception):
    """A tool failed, or was not allowed to run. `failure` says which."""

    def __init__(self, text, failure="failed"):
        super().__init__(text)
        self.failure = failure


ToolError.__module__ = "hermetic_tools"


def plain(value):
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError("a tool cannot be given a %s" % type(value).__name__)


def quoted(text):
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    for control in range(32):
        text = text.replace(chr(control), "\\u%04x" % control)
    return '"%s"' % text


def encoded(value):
    if dumps:
        return dumps(value, default=plain, allow_nan=False)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(map(encoded, value))
    if isinstance(value, dict):
        return "{%s}" % ",".join(quoted(str(key)) + ":" + encoded(item) for key, item in value.items())
    return encoded(plain(value))


def decoded(text):
    # JSON of the host is also Python, but for three words.
    return loads(text) if loads else eval(text, {"__builtins__": {}, "true": True, "false": False, "null": None})


unread = bytearray()
sending = threading.Lock()
arrival = threading.Condition()
answers = {}
state = {"last": 0, "reading": False}


def read_more():
    piece = os.read(238, 65536)
    if not piece:
        raise ToolError("the host no longer answers", "interrupted")
    unread.extend(piece)


def receive():
    while b"\n" not in unread:
        read_more()
    start = unread.index(b"\n") + 1
    lengths = [int(length) for length in bytes(unread[: start - 1]).split()]
    while len(unread) < start + sum(lengths):
        read_more()
    fields = []
    for length in lengths:
        fields.append(bytes(unread[start : start + length]).decode("utf-8"))
        start += length
    del unread[:start]
    return fields


def send(*fields):
    texts = [field.encode("utf-8", "surrogatepass") for field in fields]
    frame = memoryview(" ".join(str(len(text)) for text in texts).encode() + b"\n" + b"".join(texts))
    with sending:
        while frame:
            frame = frame[os.write(239, frame) :]


# A waiting call reads, one at a time, and hands the others their answers: no reader thread is needed.
def answer_to(call):
    while True:
        with arrival:
            while call not in answers and state["reading"]:
                arrival.wait()
            if call in answers:
                return answers.pop(call)
            state["reading"] = True
        try:
            fields = receive()
            answers[fields[0]] = fields[1:]
        finally:
            with arrival:
                state["reading"] = False
                arrival.notify_all()


def call_tool(name, given):
    if os.getpid() != own_process:
        raise ToolError("tools can be called by the script's own process and its threads, not by a process it forked")
    arguments = encoded(given)
    if len(arguments.encode("utf-8", "surrogatepass")) > max_bytes:
        raise ToolError("the arguments of %s are too long; at most %d bytes" % (name, max_bytes), "bad-input")
    with arrival:
        state["last"] += 1
        call = str(state["last"])
    send("call", call, name, arguments)
    outcome, text = answer_to(call)
    if outcome != "ok":
        raise ToolError(text, outcome)
    return decoded(text)


def function_for(name, parameters):
    takes = "%s() takes %s" % (name, ", ".join(parameters) or "nothing")

    def tool(*values, **named):
        if len(values) > len(parameters):
            raise TypeError("%s; it was given %d values" % (takes, len(values)))
        given = dict(zip(parameters, values))
        for key, value in named.items():
            if key not in parameters:
                raise TypeError("%s; not %s" % (takes, key))
            if key in given:
                raise TypeError("%s was given %s twice" % (name, key))
            given[key] = value
        return call_tool(name, {key: value for key, value in given.items() if value is not None})

    tool.__name__ = tool.__qualname__ = name
    tool.__module__ = "hermetic_tools"
    tool.__doc__ = takes
    return tool


def own_traceback():
    """Most scripts need none, and loading it takes as long as a third of Python."""
    path, sys.path[:] = sys.path[:], [place for place in search_path if place]
    try:
        import linecache
        import traceback
    finally:
        sys.path[:] = path
    linecache.cache["script.py"] = (len(code), None, code.splitlines(True), "script.py")
    return traceback


def formatted(error):
    """As Python prints it, without what is ours."""
    traceback = own_traceback()
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename in ("<string>", "<hermetic>"):
        trace = trace.tb_next
    report = traceback.TracebackException(type(error), error, trace)
    waiting, seen = [report], set()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        if part.stack:
            part.stack[:] = [frame for frame in part.stack if frame.filename != "<hermetic>"]
        waiting += [part.__cause__, part.__context__] + list(getattr(part, "exceptions", None) or [])
    return "".join(report.format() if report.stack else report.format_exception_only())


def show(_type, error, _trace):
    sys.stderr.write(formatted(error))


def show_of_thread(args):
    if args.exc_type is not SystemExit:
        sys.stderr.write("Exception in thread %s:\n%s" % (args.thread.name if args.thread else "?", formatted(args.exc_value)))


sys.excepthook = show
threading.excepthook = show_of_thread

code, tools, max_bytes = receive()
max_bytes = int(max_bytes)
library = types.ModuleType("hermetic_tools", "The tools of this session.")
library.ToolError = ToolError
for name, parameters in decoded(tools):
    setattr(library, name, function_for(name, parameters))
sys.modules["hermetic_tools"] = library
# Kept, because functions of it are still in use.
sys.modules["_hermetic"] = sys.modules["__main__"]
script = types.ModuleType("__main__")
script.__dict__.update({key: value for key, value in library.__dict__.items() if not key.startswith("__")})
script.__file__ = os.path.abspath("script.py")
script.__builtins__ = __builtins__
sys.modules["__main__"] = script
sys.argv = ["script.py"]
# For tracebacks that the script makes itself. A file of that name would come first.
script.__loader__ = types.SimpleNamespace(get_source=lambda name: code)
if os.path.exists("script.py"):
    own_traceback()
exec(compile(code, "script.py", "exec", dont_inherit=True), script.__dict__)
