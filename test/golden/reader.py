# A reader of logs in another language, written from docs/log-format.md alone. Python 3.8 or newer, no packages.
# python3 reader.py FILE...: a JSON line for each file, { file, refused } or { file, differs, events, requests, history, chain }.
import hashlib
import json
import re
import sys
import zlib


class Refused(Exception):
    """The log cannot be read: newer, old or damage."""


class Number(str):
    """A number, as the text that stands in the log."""


H = lambda text: hashlib.sha256(text.encode('utf-8')).hexdigest()
NOTHING = '0' * 64

# "Events": fields of the data by type; those that are there always, and those that may be.
TYPES = {
    'session/open': ('version format writer digest id', 'cwd config parent at seed under kind title tools limits'),
    'session/title': ('title owner', ''),
    'prompt/queued': ('input owner', 'steer context key letter config output'),
    'prompt/withdrawn': ('prompt reason', 'letter'),
    'turn/start': ('turn woke', 'prompt'),
    'turn/cancel': ('turn reason', 'letter'),
    'turn/end': ('turn reason settled', 'finish error'),
    'step/start': ('turn step', ''),
    'step/end': ('turn step reason digest', 'error budget timing'),
    'user/message': ('message owner prompt', ''),
    'context/message': ('message owner', 'steer'),
    'run/context': ('turn digest template facts sections', ''),
    'request/header': ('reason header owners', 'substitute'),
    'request/header-delta': ('delta', 'substitute'),
    'request/dispatch': ('boundary history digest', 'turn step attempt purpose messages config tools'),
    'request/end': ('dispatch outcome', 'usage wire finish error answer adapter firstChunk response'),
    'assistant/message': ('message dispatch', 'interrupted'),
    'approval/decided': ('assistant index rule decision', ''),
    'question/asked': ('assistant index kind question', 'options schema'),
    'question/answered': ('question answer by', 'remember letter'),
    'tool/start': ('assistant index', ''),
    'tool/result': ('assistant index message outcome', 'owner additionalContext details progress endTurn'),
    'surface/replace': ('first last messages owner reason', ''),
    'surface/rewind': ('turn owner reason', ''),
    'letter/refused': ('letter reason', ''),
}
CONTENT = {'text': 'text', 'image': 'digest mediaType', 'file': 'digest mediaType'}
BLOCKS = {
    'system': CONTENT, 'user': CONTENT, 'result': CONTENT,
    'assistant': {'text': 'text', 'reasoning': 'text', 'tool-call': 'id name arguments'},
    'tool': {'tool-result': 'id name content'},
}
BLOCK_TYPES = {name for kinds in BLOCKS.values() for name in kinds}


def text_of(value):
    """JSON text, as "Digests" says."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        escapes = {'"': '\\"', '\\': '\\\\', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r'}
        return '"' + ''.join(escapes.get(c) or (c if c >= ' ' else '\\u%04x' % ord(c)) for c in value) + '"'
    if isinstance(value, dict):
        return '{' + ','.join(text_of(key) + ':' + text_of(item) for key, item in value.items()) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(text_of, value)) + ']'
    return {True: 'true', False: 'false', None: 'null'}[value]


def merged(base, change):
    """An object made of two, its keys in the order of ECMAScript."""
    both = {**base, **change}
    whole = [key for key in both if re.fullmatch(r'0|[1-9]\d*', key) and int(key) < 4294967295]
    return {key: both[key] for key in sorted(whole, key=int) + [key for key in both if key not in whole]}


def digest_of(value):
    return H(text_of(value))


def chain_of(values, link=NOTHING):
    for value in values or []:
        link = H(link + digest_of(value))
    return link


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=lambda word: damage(word))


def damage(what):
    raise Refused('damage', what)


def newer(what):
    raise Refused('newer', what)


# "Files of store-jsonl"

def events_of(data):
    lines, seed, events = data.split(b'\n'), None, []
    for line in lines[:-1]:
        try:
            value = parse(line.decode('utf-8'))
        except ValueError as error:
            damage(error)
        several = value if isinstance(value, list) else [value]
        if seed is None:
            seed = several[0].get('data', {}).get('id')
        match = re.fullmatch(rb'(.*),"sum":"([0-9a-f]{8})"\}\]?', line, re.S)
        if not match:
            damage('a line without a sum')
        start = ('%s/%s/' % (seed, several[0]['seq'])).encode()
        if '%08x' % zlib.crc32(start + match[1]) != match[2].decode():
            damage('a sum')
        del several[-1]['sum']
        events += several
    return events


# "What a reader refuses"

def depth_of(value):
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(depth_of, inside), default=0)


def well_formed(value):
    if isinstance(value, dict):
        return all(well_formed(key) and well_formed(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(well_formed, value))
    return not isinstance(value, str) or not re.search('[\ud800-\udfff]', value)


def is_whole(value):
    return isinstance(value, Number) and re.fullmatch(r'0|[1-9]\d*', value) is not None


def check_message(message, *roles):
    if not isinstance(message, dict) or not isinstance(message.get('content'), list):
        damage('a message')
    role = message.get('role')
    if role not in ('system', 'user', 'assistant', 'tool'):
        newer('a role')
    if roles and role not in roles:
        damage('a role in the wrong place')
    for block in message['content']:
        check_block(block, role)
    if role == 'tool' and len(message['content']) != 1:
        damage('a result')


def check_block(block, where):
    kind = block.get('type')
    if kind not in BLOCK_TYPES:
        newer('a block')
    if kind not in BLOCKS[where] or any(field not in block for field in BLOCKS[where][kind].split()):
        damage('a block')
    if kind == 'tool-result':
        for part in block['content']:
            check_block(part, 'result')


def check(event, index):
    if not well_formed(event) or depth_of(event) > 128:
        damage('its texts or its depth')
    kind, data = event.get('type'), event.get('data')
    if event.get('seq') != str(index) or not isinstance(event.get('time'), Number) or not isinstance(kind, str) or not isinstance(data, dict):
        damage('no event, or not the one that comes next')
    if (kind == 'session/open') != (index == 0):
        damage('its beginning')
    if index == 0:
        check_open(data)
    if event.get('required') not in (None, True):
        damage('required')
    if kind == 'surface/rewind' and 'required' not in event:
        damage('a rewind that is not required')
    must, may = TYPES.get(kind, ('', ''))
    if event.get('required'):
        if kind not in TYPES or set(event) - {'seq', 'time', 'type', 'data', 'required'} or set(data) - set((must + ' ' + may + ' blobs').split()):
            newer('what is required')
    for field in must.split():
        if field not in data:
            damage(kind + '.' + field)
    for field in ('turn', 'step', 'attempt', 'index', 'prompt', 'dispatch', 'assistant', 'boundary'):
        if kind in TYPES and field in data and not is_whole(data[field]):
            damage(kind + '.' + field)
    check_messages(kind, data)


def check_open(data):
    if not is_whole(data.get('version')):
        damage('version')
    if int(data['version']) > 2:
        newer('version')
    if int(data['version']) < 2:
        raise Refused('old', 'version')
    if data.get('format') != 'headrace':
        damage('format')
    if data.get('digest') != 'sha-256':
        newer('digest')


def check_messages(kind, data):
    for message in data.get('seed', []) if kind == 'session/open' else []:
        check_message(message)
    if kind == 'prompt/queued':
        check_message(data['input'], 'user')
    roles = {'user/message': ['user'], 'context/message': ['system', 'user'], 'assistant/message': ['assistant'], 'tool/result': ['tool']}
    if kind in roles:
        check_message(data['message'], *roles[kind])
    if 'answer' in data and kind == 'request/end':
        check_message(data['answer'], 'assistant')
    lists = {'tool/result': 'additionalContext', 'surface/replace': 'messages', 'request/dispatch': 'messages'}
    for item in data.get(lists.get(kind), []):
        check_message(item['message'])
    header = data.get('header') or data.get('delta') if kind.startswith('request/header') else None
    for field in ('prefix', 'before', 'after') if header else ():
        if isinstance(header.get(field), list):
            for message in header[field]:
                check_message(message)


# "History"

class History:
    def __init__(self):
        self.surface, self.step, self.turns, self.turn, self.count = [], None, {}, None, 0

    def apply(self, seq, kind, data):
        number = lambda field: int(data[field])
        if kind == 'session/open':
            owners = {'system': 'app', 'user': 'user', 'assistant': 'model', 'tool': 'tool'}
            self.surface = [self.entry(seq, m, owners[m['role']], part) for part, m in enumerate(data.get('seed', []))]
        elif kind == 'turn/start':
            if self.turn is not None or number('turn') != self.count + 1:
                damage('a turn')
            self.turn, self.count, self.steps = number('turn'), self.count + 1, 0
            self.turns[self.turn] = list(self.surface)
        elif kind == 'turn/end':
            if self.step or number('turn') != self.turn:
                damage('the end of a turn')
            self.turn = None
        elif kind == 'step/start':
            if self.step or number('turn') != self.turn or number('step') != self.steps + 1:
                damage('a step')
            self.steps += 1
            self.step = {'boundary': seq, 'number': self.steps, 'answer': None, 'calls': [], 'results': {}, 'contexts': [], 'attempt': 0, 'dispatches': set()}
        elif kind == 'step/end':
            if not self.step or number('turn') != self.turn or number('step') != self.step['number']:
                damage('the end of a step')
            self.surface, self.step = self.closing(), None
        elif kind == 'user/message':
            if self.step:
                damage('a user message in a step')
            self.surface.append(self.entry(seq, data['message'], data['owner']))
        elif kind == 'context/message':
            (self.step['contexts'] if self.step else self.surface).append(self.entry(seq, data['message'], data['owner']))
        elif kind == 'assistant/message':
            if not self.step or self.step['answer']:
                damage('an answer')
            self.step['answer'] = self.entry(seq, data['message'], 'model')
            self.step['calls'] = [block for block in data['message']['content'] if block['type'] == 'tool-call']
        elif kind in ('tool/start', 'tool/result'):
            self.call(seq, kind, data)
        elif kind == 'surface/replace':
            self.replace(seq, data)
        elif kind == 'surface/rewind':
            if self.turn is not None or number('turn') not in self.turns:
                damage('a rewind')
            self.surface = list(self.turns[number('turn')])

    @staticmethod
    def entry(seq, message, owner, part=0):
        return {'id': str(seq) if part == 0 else '%d.%d' % (seq, part), 'message': message, 'owner': owner}

    def call(self, seq, kind, data):
        step, index = self.step, int(data['index'])
        if not step or not step['answer'] or step['answer']['id'] != data['assistant'] or index >= len(step['calls']):
            damage('a call')
        if kind == 'tool/start':
            return
        if index in step['results']:
            damage('a second result')
        more = [self.entry(seq, item['message'], item['owner'], part + 1) for part, item in enumerate(data.get('additionalContext', []))]
        step['results'][index] = (self.entry(seq, data['message'], data.get('owner', 'tool')), more)

    def closing(self):
        step = self.step
        if len(step['results']) != len(step['calls']):
            damage('a call without its result')
        results = [step['results'][index] for index in range(len(step['calls']))]
        answer = [step['answer']] if step['answer'] and step['answer']['message']['content'] else []
        return self.surface + answer + [result for result, _ in results] + [entry for _, more in results for entry in more] + step['contexts']

    def replace(self, seq, data):
        names = [entry['id'] for entry in self.surface]
        if self.step or data['first'] not in names or data['last'] not in names:
            damage('a replacement')
        first, last = names.index(data['first']), names.index(data['last'])
        self.surface = self.surface[:first] + [self.entry(seq, m['message'], m['owner'], part) for part, m in enumerate(data['messages'])] + self.surface[last + 1:]


# "Header"

class Header:
    def __init__(self):
        self.fields, self.owners, self.events = None, {}, {}

    def apply(self, seq, kind, data):
        if kind == 'request/header':
            self.events[seq] = data['header']
            self.fields = {'config': data['header']['config']}
            for field in ('system', 'tools', 'prefix', 'before', 'after'):
                self.fields[field] = self.resolve(field, data['header'].get(field)) or None
            self.owners = dict(data['owners'])
        elif kind == 'request/header-delta':
            if self.fields is None or 'prefix' in data['delta']:
                damage('a delta')
            self.events[seq] = data['delta']
            self.delta(data['delta'])

    def resolve(self, field, value):
        if not isinstance(value, dict) or 'in' not in value:
            return value
        found = self.events.get(int(value['in']), {}).get(field)
        if not found or isinstance(found, dict):
            damage('a reference to nowhere')
        return found

    def delta(self, delta):
        fields = self.fields
        if 'config' in delta:
            fields['config'] = delta['config']
        if 'system' in delta:
            fields['system'] = self.system(delta['system']) or None
        if 'tools' in delta:
            fields['tools'] = self.tools(delta['tools']) or None
        for field in ('before', 'after'):
            if field in delta:
                fields[field] = self.resolve(field, delta[field]) or None
        for field in ('system', 'before', 'after'):
            if field in delta.get('owners', {}):
                self.owners[field] = delta['owners'][field]

    def system(self, change):
        if change == '':
            return None
        old = [] if self.fields['system'] is None else self.fields['system'].split('\n')
        head, tail = int(change['head']), int(change['tail'])
        if head + tail > len(old):
            damage('a system delta')
        return '\n'.join(old[:head] + change['lines'] + old[len(old) - tail:])

    def tools(self, change):
        if isinstance(change, list):
            return None
        tools = {tool['name']: tool for tool in self.fields['tools'] or []}
        for name in change.get('remove', []):
            tools.pop(name, None)
        for tool in change.get('set', []):
            tools[tool['name']] = tool
        return [tools[name] for name in sorted(tools, key=lambda name: name.encode('utf-16-be'))]


# "A request"

def request_of(data, header, history):
    fields = header.fields
    parts = {'config': fields['config'], 'system': fields['system'], 'tools': fields['tools'], 'prefix': fields['prefix'] or [], 'before': fields['before'] or []}
    entries = [(entry['message'], entry['owner']) for entry in history.surface]
    after = fields['after'] or []
    if 'purpose' in data:
        entries += [(item['message'], item['owner']) for item in data.get('messages', [])]
        parts['config'] = merged({name: value for name, value in fields['config'].items() if name != 'output'}, data.get('config', {}))
        after = []
        if data.get('tools') == 'none':
            parts['tools'] = None
    parts['history'], parts['after'] = [message for message, _ in entries], after
    owners = []
    for field in ('prefix', 'before', 'after'):
        known = header.owners.get(field, [])
        owners += [known[index] if index < len(known) else 'loop' for index in range(len(parts[field]))]
        if field == 'before':
            owners += [owner for _, owner in entries]
    return {**{name: value for name, value in parts.items() if value is not None}, 'owners': owners}


def digest_of_request(request):
    parts = [digest_of(request['config']), digest_of(request['system']) if 'system' in request else '', chain_of(request.get('tools'))]
    parts += [chain_of(request[field]) for field in ('prefix', 'before', 'history', 'after')]
    return H(''.join(part + '\n' for part in parts))


def read(data):
    events = events_of(data)
    if not events:
        damage('no event')
    history, header, requests, differs = History(), Header(), {}, []

    def compare(seq, what, found, recorded):
        if found != recorded:
            differs.append('event %d: %s' % (seq, what))

    for seq, event in enumerate(events):
        check(event, seq)
        kind, data = event['type'], event['data']
        if kind == 'assistant/message' and history.step and history.step['dispatches']:
            compare(seq, 'dispatch', int(data['dispatch']) in history.step['dispatches'], True)
        history.apply(seq, kind, data)
        header.apply(seq, kind, data)
        if kind == 'step/end':
            compare(seq, 'digest of the step', chain_of([entry['message'] for entry in history.surface]), data['digest'])
        if kind != 'request/dispatch':
            continue
        if header.fields is None:
            damage('a dispatch without a header')
        request = requests[str(seq)] = request_of(data, header, history)
        compare(seq, 'history', chain_of(request['history']), data['history'])
        compare(seq, 'digest', digest_of_request(request), data['digest'])
        if 'purpose' in data:
            compare(seq, 'boundary', int(data['boundary']), history.step['boundary'] if history.step else seq)
            continue
        if not history.step:
            damage('a dispatch outside a step')
        compare(seq, 'boundary', int(data['boundary']), history.step['boundary'])
        here = {'turn': history.turn, 'step': history.step['number']}
        for field, value in here.items():
            if field in data:
                compare(seq, field, int(data[field]), value)
        if 'attempt' in data:
            compare(seq, 'attempt', int(data['attempt']) > history.step['attempt'], True)
            history.step['attempt'] = int(data['attempt'])
        history.step['dispatches'].add(seq)
    entries = [[entry['id'], entry['owner']] for entry in history.surface]
    chain = chain_of([entry['message'] for entry in history.surface])
    return {'differs': differs, 'events': Number(len(events)), 'requests': requests, 'history': entries, 'chain': chain}


for name in sys.argv[1:]:
    try:
        found = read(open(name, 'rb').read())
    except Refused as refused:
        found = {'refused': refused.args[0], 'what': str(refused.args[1])}
    sys.stdout.buffer.write((text_of({'file': name, **found}) + '\n').encode('utf-8'))
