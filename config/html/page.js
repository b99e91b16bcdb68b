'use strict';
// Filters, sorting, copying, and the pages of hosts from the JSON, in the body
// of each language when it is first shown. The page is whole without it. Texts
// enter the page as text alone.
(() => {
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
  const report = JSON.parse(document.getElementById('report').textContent);
  const hosts = report.hosts || [];
  const letters = {FAIL: 'F', UNKNOWN: 'U', WARN: 'W', PASS: 'P', SKIPPED: 'S'};
  const letterOf = (state) => letters[state] || 'U';
  // 12 of h12, #h12 or zh-h12.
  const numberOf = (id) => Number(id.replace(/^.*h/, ''));
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
    const words = button.closest('.body').dataset;
    button.textContent = words.copied;
    setTimeout(() => { button.textContent = words.copy; }, 1500);
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

  // The body of one language, when it is first shown.
  const start = (body) => {
    if (body.dataset.started) return;
    body.dataset.started = '1';
    const prefix = body.dataset.id;
    const at = (id) => document.getElementById(prefix + id);
    const all = (selector) => Array.from(body.querySelectorAll(selector));
    // Words of the body, and what takes the place of {} in them.
    const say = (words, value) =>
        body.dataset[words].replace('{}', () => safe(value));

    // ---- Pages of hosts ----
    // A finding has its row in the block of its rule, or in a hidden table if it
    // follows from another rule and the language is not that of the JSON.
    const rowOf = new Map(all('tr.finding, tr.follows').map(
        (row) => [row.dataset.at, row]));
    const rowFromJson = (finding) => {
      const row = make('tr');
      const observed = make('td', finding.observed);
      if (finding.caused_by) {
        observed.append(make('br'), say('because', finding.caused_by));
      }
      row.lang = 'en';
      row.append(make('td'), observed, make('td', finding.expected),
                 make('td', finding.fix, 'lines'));
      return row;
    };
    const fill = (details) => {
      const host = hosts[numberOf(details.id)];
      if (!host || details.dataset.full) return;
      details.dataset.full = '1';
      for (const list of details.querySelectorAll('ul')) list.remove();
      details.append(make('p', host.no_facts_reason
          ? say('silent', host.no_facts_reason)
          : say('answered', host.elapsed_ms || 0)));
      if (host.simulation) {
        const words = all('data').find((each) => each.value === host.simulation);
        details.append(make('p', say('simulated',
            words ? words.textContent : host.simulation)));
      }
      const known = found.get(host.host);
      if (!known.length) {
        details.append(make('p', say('quiet')));
        return;
      }
      const table = make('table', undefined, 'sorts');
      const head = body.querySelector('.block thead');
      const rows = make('tbody');
      for (const [place, finding, devices] of known) {
        const there = rowOf.get(place);
        const row = there ? there.cloneNode(true) : rowFromJson(finding);
        row.className = '';
        delete row.dataset.at;
        row.cells[0].replaceChildren(badge(letterOf(finding.state)), ' ',
                                     make('b', finding.rule));
        if (devices.length) {
          row.cells[0].append(' ', say('device', devices.join(', ')));
        }
        rows.append(row);
      }
      if (head) table.append(head.cloneNode(true));
      table.append(rows);
      details.append(table);
    };
    const addPages = () => {
      const pages = new Set(all('details.host').map((page) => page.id));
      const passing = document.createDocumentFragment();
      hosts.forEach((host, n) => {
        const id = prefix + 'h' + n;
        if (pages.has(id)) return;
        const page = make('details', undefined, 'host passes');
        page.id = id;
        const summary = make('summary');
        summary.append(badge(letterOf(host.state)), ' ', make('b', host.host),
                       host.rack ? ' ' + say('rack', host.rack) : '');
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
    const search = at('bar').querySelector('input');
    const states = at('bar').querySelector('span');
    const chosen = at('bar').querySelector('b');
    const clear = at('bar').lastElementChild;
    const hostOfPage = (page) => hosts[numberOf(page.id)];
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
      for (const cell of all('.map a')) {
        const is = cell.hash === '#' + prefix + 'h' + wanted.host;
        cell.classList.toggle('chosen', is);
      }
      for (const button of states.children) {
        button.setAttribute('aria-pressed',
                            String(button.textContent === wanted.letter));
      }
      chosen.textContent = wanted.host === null ? ''
          : say('only', hosts[wanted.host].host);
      clear.hidden = none;
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
    const showBar = () => {
      search.addEventListener('input', () => {
        wanted.host = null;
        wanted.text = search.value.toLowerCase();
        filter();
      });
      for (const button of states.children) {
        const letter = button.textContent;
        button.addEventListener('click', () => {
          wanted.letter = wanted.letter === letter ? '' : letter;
          wanted.host = null;
          filter();
        });
      }
      clear.addEventListener('click', () => {
        wanted.host = null;
        wanted.letter = wanted.text = search.value = '';
        filter();
      });
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
      const order = new Intl.Collator(body.lang, {numeric: true}).compare;
      const rows = Array.from(table.tBodies[0].rows)
          .map((row) => [row.cells[column].textContent, row]);
      rows.sort((a, b) => down ? order(b[0], a[0]) : order(a[0], b[0]));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    };

    // ---- The keyboard: the map is one stop, arrows move in it ----
    const moveInMap = (event) => {
      const step =
          {ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity};
      const cells = all('.map a');
      const now = cells.indexOf(event.target);
      if (now < 0 || !(event.key in step)) return;
      const next =
          Math.min(cells.length - 1, Math.max(0, now + step[event.key]));
      cells[now].tabIndex = -1;
      cells[next].tabIndex = 0;
      cells[next].focus();
      event.preventDefault();
    };

    addPages();
    showBar();
    all('.map a').forEach((cell, n) => { cell.tabIndex = n ? -1 : 0; });
    for (const head of all('.sorts th')) {
      head.tabIndex = 0;
      head.setAttribute('role', 'columnheader');
    }
    body.addEventListener('click', (event) => {
      const target = event.target;
      if (target.matches('.copy')) copy(target);
      if (target.matches('.sorts th')) sortBy(target);
      if (target.matches('.map a')) choose(numberOf(target.hash));
    });
    body.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && event.target.matches('.sorts th')) {
        sortBy(event.target);
      }
      moveInMap(event);
    });
  };

  const choices = Array.from(document.querySelectorAll('input.language'));
  for (const choice of choices) {
    const body = document.getElementById(choice.value);
    if (choice.checked) start(body);
    choice.addEventListener('change', () => start(body));
  }
  // What a link leads to may be in the other language, or in a closed block.
  const reveal = () => {
    const to = location.hash.length > 1 &&
        document.getElementById(location.hash.slice(1));
    const body = to && to.closest('.body');
    if (!body) return;
    const choice = choices.find((each) => each.value === body.id);
    const was_hidden = !choice.checked;
    choice.checked = true;
    start(body);
    const block = to.closest('details');
    if (block) block.open = true;
    if (was_hidden) to.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  addEventListener('beforeprint', () => {
    const printed = document.querySelectorAll('details:not(.long, .passes)');
    for (const each of printed) each.open = true;
  });
  document.documentElement.classList.add('scripted');
  reveal();
})();
