'use strict';
// Filters, sorting, copying, and the pages of hosts from the JSON. The page is
// whole without it. Texts enter the page as text alone.
(() => {
  const at = (id) => document.getElementById(id);
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const make = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = safe(text);
    if (name) made.className = name;
    return made;
  };
  // What controls a terminal or turns text round is shown as its number, as in
  // the page itself.
  const hidden = new RegExp('[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f' +
      '\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]', 'g');
  const safe = (text) => String(text).replace(hidden, (sign) =>
      '\\u' + sign.charCodeAt(0).toString(16).padStart(4, '0'));
  const report = JSON.parse(at('report').textContent);
  const hosts = report.hosts || [];
  const letters = {FAIL: 'F', UNKNOWN: 'U', WARN: 'W', PASS: 'P', SKIPPED: 'S'};
  const letterOf = (state) => letters[state] || 'U';
  const badge = (letter) => make('b', letter, 'state ' + letter);

  // By host: the findings about it, [their place, the finding, devices].
  const found = new Map(hosts.map((host) => [host.host, []]));
  (report.rules || []).forEach((rule, r) => {
    (rule.findings || []).forEach((finding, f) => {
      (finding.subjects || []).forEach((subject) => {
        const of = found.get(subject.host);
        if (of) of.push([r + '.' + f, finding, subject.devices || []]);
      });
    });
  });

  // ---- Copying ----
  const copied = (button) => {
    button.textContent = 'copied';
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  };
  const copyBySelection = (source, button) => {
    const range = document.createRange();
    range.selectNodeContents(source);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    if (document.execCommand('copy')) copied(button);
  };
  const copy = (button) => {
    const source = button.previousElementSibling;
    if (!navigator.clipboard) return copyBySelection(source, button);
    navigator.clipboard.writeText(source.textContent)
        .then(() => copied(button), () => copyBySelection(source, button));
  };

  // ---- Pages of hosts ----
  const addTold = (list, term, text) => {
    if (text) list.append(make('dt', term), make('dd', text));
  };
  const fill = (details) => {
    const host = hosts[Number(details.id.slice(1))];
    if (!host || details.dataset.full) return;
    details.dataset.full = '1';
    all('#' + details.id + ' > ul').forEach((list) => list.remove());
    const about = make('p', 'answered in ' + host.elapsed_ms + ' ms' +
        (host.simulation ? ', simulated: ' + host.simulation : ''));
    if (host.no_facts_reason) {
      about.textContent = safe('no facts: ' + host.no_facts_reason);
    }
    details.append(about);
    const told = found.get(host.host);
    if (!told.length) details.append(make('p', 'No finding is about it.'));
    for (const [, finding, devices] of told) {
      const line = make('p');
      const where = devices.length ? ' device ' + devices.join(', ') : '';
      line.append(badge(letterOf(finding.state)), ' ',
                  make('b', finding.rule), where);
      const list = make('dl');
      addTold(list, 'found', finding.observed);
      addTold(list, 'expected', finding.expected);
      addTold(list, 'why', finding.why);
      addTold(list, 'because of', finding.caused_by);
      details.append(line, list);
      if (finding.fix) {
        const button = make('button', 'copy', 'copy');
        button.type = 'button';
        details.append(make('pre', finding.fix), button);
      }
    }
  };
  const addPages = () => {
    const pages = new Map(all('details.host').map((page) => [page.id, page]));
    const passing = document.createDocumentFragment();
    hosts.forEach((host, n) => {
      if (pages.has('h' + n)) return;
      const page = make('details', undefined, 'host passes');
      page.id = 'h' + n;
      const summary = make('summary');
      summary.append(badge(letterOf(host.state)), ' ', make('b', host.host),
                     safe(host.rack ? ' rack ' + host.rack : ''));
      page.append(summary);
      passing.append(page);
    });
    at('hosts').append(passing);
    at('hosts').addEventListener('toggle', (event) => {
      if (event.target.open) fill(event.target);
    }, true);
  };

  // ---- Filters ----
  const wanted = {host: null, letter: '', text: ''};
  const search = make('input');
  const states = make('span');
  const chosen = make('span');
  const hostOfPage = (page) => hosts[Number(page.id.slice(1))];
  const shows = (element, letter, places) => {
    const place = places === null || places.has(element.dataset.at);
    return place && (!wanted.letter || wanted.letter === letter) &&
        (!wanted.text ||
         element.textContent.toLowerCase().includes(wanted.text));
  };
  const filter = () => {
    const none = wanted.host === null && !wanted.letter && !wanted.text;
    const places = wanted.host === null ? null
        : new Set(found.get(hosts[wanted.host].host).map(([place]) => place));
    for (const block of all('details.block')) {
      const letter = block.querySelector('summary .state').textContent;
      const rule = block.querySelector('summary').textContent.toLowerCase();
      let shown = 0;
      for (const row of block.querySelectorAll('tr.finding')) {
        const named = !places && wanted.text && rule.includes(wanted.text) &&
            (!wanted.letter || wanted.letter === letter);
        const is = named || shows(row, letter, places);
        row.classList.toggle('away', !is);
        shown += is ? 1 : 0;
      }
      block.classList.toggle('away', !shown);
      if (places && shown) block.open = true;
    }
    for (const page of all('details.host')) {
      const host = hostOfPage(page);
      if (!host) continue;
      const is = (wanted.host === null || host === hosts[wanted.host]) &&
          shows(page, letterOf(host.state), null);
      page.classList.toggle('away', !is);
    }
    for (const cell of all('#map a')) {
      cell.classList.toggle('chosen', cell.hash === '#h' + wanted.host);
    }
    for (const button of states.children) {
      button.setAttribute('aria-pressed',
                          String(button.textContent === wanted.letter));
    }
    chosen.textContent = wanted.host === null ? ''
        : safe('only ' + hosts[wanted.host].host + ' ');
    if (none) return;
    const clear = make('button', 'show all');
    clear.type = 'button';
    clear.addEventListener('click', () => {
      wanted.host = null;
      wanted.letter = wanted.text = search.value = '';
      filter();
    });
    chosen.append(clear);
  };
  const choose = (n) => {
    if (!hosts[n]) return;
    wanted.host = n;
    wanted.letter = wanted.text = search.value = '';
    filter();
    const page = at('h' + n);
    page.open = true;
    fill(page);
  };
  const addBar = () => {
    search.type = 'search';
    search.placeholder = 'host, rule or text';
    search.setAttribute('aria-label', 'show findings and hosts with this text');
    search.addEventListener('input', () => {
      wanted.host = null;
      wanted.text = search.value.toLowerCase();
      filter();
    });
    for (const letter of ['F', 'U', 'W']) {
      const button = make('button', letter, letter);
      button.type = 'button';
      button.title = 'show this state only';
      button.setAttribute('aria-pressed', 'false');
      button.addEventListener('click', () => {
        wanted.letter = wanted.letter === letter ? '' : letter;
        wanted.host = null;
        filter();
      });
      states.append(button);
    }
    at('bar').append('show ', search, ' ', states, ' ', chosen);
    at('bar').hidden = false;
  };

  // ---- Sorting ----
  const sortBy = (head) => {
    const table = head.closest('table');
    const column = Array.from(head.parentNode.children).indexOf(head);
    const down = head.getAttribute('aria-sort') === 'ascending';
    for (const other of head.parentNode.children) {
      other.removeAttribute('aria-sort');
    }
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const order = new Intl.Collator('en', {numeric: true}).compare;
    const rows = Array.from(table.tBodies[0].rows)
        .map((row) => [row.cells[column].textContent, row]);
    rows.sort((a, b) => down ? order(b[0], a[0]) : order(a[0], b[0]));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };

  // ---- The keyboard: the map is one stop, arrows move in it ----
  const moveInMap = (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity};
    const cells = all('#map a');
    const now = cells.indexOf(event.target);
    if (now < 0 || !(event.key in step)) return;
    const next = Math.min(cells.length - 1, Math.max(0, now + step[event.key]));
    cells[now].tabIndex = -1;
    cells[next].tabIndex = 0;
    cells[next].focus();
    event.preventDefault();
  };

  // What a link leads to may be in a closed block.
  const reveal = () => {
    const to = location.hash.length > 1 && at(location.hash.slice(1));
    const block = to && to.closest('details');
    if (block) block.open = true;
  };

  addPages();
  addBar();
  all('#map a').forEach((cell, n) => { cell.tabIndex = n ? -1 : 0; });
  for (const head of all('.sorts th')) {
    head.tabIndex = 0;
    head.setAttribute('role', 'columnheader');
  }
  document.addEventListener('click', (event) => {
    const target = event.target;
    if (target.matches('.copy')) copy(target);
    if (target.matches('.sorts th')) sortBy(target);
    if (target.matches('#map a')) choose(Number(target.hash.slice(2)));
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && event.target.matches('.sorts th')) {
      sortBy(event.target);
    }
    moveInMap(event);
  });
  addEventListener('hashchange', reveal);
  addEventListener('beforeprint', () => {
    all('details:not(.long, .passes)').forEach((details) => {
      details.open = true;
    });
  });
  document.documentElement.classList.add('scripted');
  reveal();
})();
