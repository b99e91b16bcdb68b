#!/usr/bin/env bash
# HTML reports in a real browser. The page tries no request, its policy refuses nothing of its own,
# and hostile texts execute nothing. The script works, and without it all content is there.
set -uo pipefail
. tests/browser/browser.sh

why=$(obstacle)
if [ -n "$why" ]; then
  # For root a missing package of tests/run.sh is a failure.
  if [ "$(id -u)" -eq 0 ] && [[ $why = *"not installed"* ]]; then
    echo "FAILED: $why"
    exit 1
  fi
  echo "skipped: $why"
  exit 0
fi

bad=0
fail() {
  echo "FAILED: $*"
  bad=1
}
# expect WHAT COUNT PATTERN: so many times in $work/dom.
expect() {
  local found
  found=$(grep -oE "$3" "$work/dom" | wc -l)
  [ "$found" -eq "$2" ] || fail "$1: $found of /$3/, expected $2"
}

# The page's requests to the network, and its output and refusals.
asked() { grep -oE '"url": ?"[^"]*"' "$work/net" | grep -v '"file:' | sort -u; }
said() { grep CONSOLE "$work/console"; }

# open NAME: $work/NAME.html into $work/dom; fails on any request or output.
open_quietly() {
  browse "$work/$1.html" --dump-dom "${@:2}" >"$work/dom" || fail "$1: the browser ended with $?"
  [ -s "$work/net" ] || fail "$1: no log of the network"
  [ -z "$(asked)" ] || fail "$1 asked for $(asked)"
  [ -z "$(said)" ] || fail "$1 said $(said)"
}

for name in small large hostile; do
  tests/browser/sample_report "$name" >"$work/$name.html" || fail "no report $name"
done

# First checks that a misbehaving page is found out.
{
  echo '<!DOCTYPE html><title>t</title>'
  echo '<img src="http://127.0.0.1:9/x">'
  echo "<script>document.title='owned'; console.log('here')</script>"
} >"$work/wrong.html"
browse "$work/wrong.html" --dump-dom >"$work/dom"
expect "a page that is fooled" 1 '<title>owned</title>'
# Read through <(): a writer into a pipe that grep has left fails with it.
grep -q 'http://127.0.0.1:9/x' <(asked) || fail "a request is not seen"
grep -q here <(said) || fail "the console is not seen"
sed "s|</footer>|&<script>document.title='owned'</script>|" "$work/small.html" >"$work/added.html"
browse "$work/added.html" --dump-dom >"$work/dom"
expect "a script that was added" 0 '<title>owned</title>'
grep -q "violates the following Content Security Policy" <(said) || fail "a refusal is not seen"

open_quietly small
expect "the script runs" 1 '<html lang="en" class="scripted">'
expect "both hosts have a page" 2 '<details class="host( passes| long)?" id="h[0-9]+"'
expect "the bar is shown" 1 '<div class="bar" id="bar">'
expect "cells of the map" 2 '<a class="[FUWPS]" href="#h[0-9]+"'
expect "cells of the map in Chinese" 2 '<a class="[FUWPS]" href="#zh-h[0-9]+"'

open_quietly hostile
expect "a text became a title of its own" 0 '<title>owned'
expect "the script runs beside hostile texts" 1 '<html lang="en" class="scripted">'

# Escaping must not rely on the policy: without it, with every page of a host open.
with_script() { # NAME, the script on standard input: a copy of $work/NAME.html that lets the script in.
  sed -E 's|<meta http-equiv="Content-Security-Policy"[^>]*>||; s|</body></html>||' "$work/$1.html"
  echo "<script>"
  cat
  echo "</script></body></html>"
}
with_script hostile >"$work/bare.html" <<'JS'
for (const details of document.querySelectorAll('details')) details.open = true;
addEventListener('load', () => setTimeout(() => {
  const elements = Array.from(document.querySelectorAll('*'));
  const owned = document.title === 'owned';
  const acting = elements.filter((element) => Array.from(element.attributes)
      .some((each) => each.name.startsWith('on') || each.name === 'autofocus')).length;
  const strange = document.querySelectorAll(
      'img, svg, base, iframe, object, embed, link, form, textarea').length;
  const links = Array.from(document.querySelectorAll('a'))
      .filter((link) => !link.getAttribute('href').startsWith('#')).length;
  document.title = 'owned=' + owned + ' acting=' + acting + ' strange=' + strange +
      ' links=' + links + ' scripts=' + document.scripts.length +
      ' pages=' + document.querySelectorAll('#body details.host').length +
      ' filled=' + document.querySelectorAll('#body details.host table').length;
}, 0));
JS
# The clock must have reached that time before the page is read: the script has ended.
open_quietly bare --virtual-time-budget=10000
title=$(grep -oE '<title>[^<]*' "$work/dom")
wanted='<title>owned=false acting=0 strange=0 links=0 scripts=3 pages=4 filled='
[[ $title = "$wanted"[1-9]* ]] || fail "hostile texts: $title
expected $wanted and more than 0"

open_quietly large
expect "cells of 1,152 hosts" 1152 '<a class="[FUWPS]" href="#h[0-9]+"'
expect "pages of 1,152 hosts" 1152 '<details class="host( passes| long)?" id="h[0-9]+"'

# A changed script is refused; all content is there without its effects.
sed "s|'use strict';|'use strict'; |" "$work/small.html" >"$work/changed.html"
browse "$work/changed.html" --dump-dom >"$work/dom"
grep -q "violates the following Content Security Policy" <(said) || fail "a changed script is not refused"
expect "no script ran" 1 '<html lang="en">'
expect "findings without a script" 1 '<td class="where">server1 device 3</td><td>link is DOWN</td>'
expect "a host's page without a script" 1 '<details class="host" id="h1">'
expect "the bar is hidden" 1 '<div class="bar" id="bar" hidden="">'

# Acts as a user would, by a script that only runs in a copy without the policy.
with_script small >"$work/driven.html" <<'JS'
const lines = [];
const one = (selector) => document.querySelector(selector);
const shown = (selector) => Array.from(one('#body').querySelectorAll(selector))
    .filter((element) => !element.classList.contains('away')).length;
const tell = (name, value) => lines.push(name + '=' + value);
const press = (target, key) => target.dispatchEvent(
    new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
tell('rows', shown('tr.finding') > 0);
one('#map a[href="#h0"]').click();
tell('rows of h0', shown('tr.finding'));
tell('pages of h0', shown('details.host'));
tell('open', one('#h0').open);
one('#map a[href="#h1"]').click();
tell('chosen', one('#map a.chosen').hash);
tell('found', one('#h1').textContent.includes('Receive timeout'));
tell('commands', one('#h1 pre').textContent.length > 5);
one('#bar > button').click();
const search = one('#bar input');
search.value = 'NET-HEALTH';
search.dispatchEvent(new Event('input'));
tell('rows by text', shown('details.block'));
search.value = '';
search.dispatchEvent(new Event('input'));
const first = one('#map a');
first.focus();
press(first, 'ArrowRight');
tell('arrow', document.activeElement.hash);
const head = one('#causes th:nth-child(4)');
press(head, 'Enter');
tell('sort', head.getAttribute('aria-sort'));
head.click();
tell('sort', head.getAttribute('aria-sort'));
window.dispatchEvent(new Event('beforeprint'));
tell('print', Array.from(document.querySelectorAll('details.block'))
    .every((block) => block.open));
one('#chinese').click();
const display = (selector) => getComputedStyle(one(selector)).display;
tell('bodies', display('#body') + ',' + display('#zh-body'));
one('#zh-map a[href="#zh-h1"]').click();
tell('found in Chinese', one('#zh-h1 tbody').textContent.includes('\u8bbe\u5907 3'));
location.hash = '#findings';
setTimeout(() => {
  tell('back by a link', one('#english').checked);
  document.title = lines.join(' ');
}, 100);
JS
open_quietly driven --virtual-time-budget=10000
title=$(grep -oE '<title>[^<]*' "$work/dom")
wanted='<title>rows=true rows of h0=0 pages of h0=1 open=true chosen=#h1 found=true commands=true rows by text=1 arrow=#h1 sort=ascending sort=descending print=true bodies=none,block found in Chinese=true back by a link=true'
[ "$title" = "$wanted" ] || fail "by hand: $title
expected $wanted"

browse "$work/small.html" --screenshot="$work/small.png" --window-size=1400,1200
[ -s "$work/small.png" ] || fail "no picture"
browse "$work/small.html" --print-to-pdf="$work/small.pdf"
[ "$(head -c 5 "$work/small.pdf")" = %PDF- ] || fail "it cannot be printed"

[ $bad -eq 0 ] && echo "reports are quiet and whole in $(chromium-headless-shell --version)"
exit $bad
