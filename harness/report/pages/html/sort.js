// Sorts and filters the table of runs. At first, the failures that still stand are on top.
'use strict';
const table = document.getElementById('runs');
const body = table.tBodies[0];
const runs = [...body.rows].filter((row) => row.cells.length > 1);
const byText = document.getElementById('scenario-filter');
const byVerdict = document.getElementById('verdict-filter');
const cellText = (row, column) => row.cells[column].textContent;

// A cell that holds no number comes last, up and down.
function compare(a, b, numeric, sign) {
  if (!numeric) return sign * a.localeCompare(b);
  const [x, y] = [parseFloat(a), parseFloat(b)];
  return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : sign * (x - y);
}

function sortBy(head, column) {
  const down = head.getAttribute('aria-sort') === 'ascending';
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const numeric = head.classList.contains('n');
  runs.sort((a, b) => compare(cellText(a, column), cellText(b, column), numeric, down ? -1 : 1));
  body.prepend(...runs);
}

// Counts the verdicts, the worst first, so that the numbers add up to the rows that are shown.
function countOf(rows) {
  const verdicts = ['violated', 'inconclusive', 'missed', 'pass'];
  return verdicts.map((verdict) => [rows.filter((row) => cellText(row, 2) === verdict).length, verdict])
    .filter(([n]) => n > 0).map(([n, verdict]) => `${n} ${verdict}`).join(', ');
}

function filter() {
  const wanted = byText.value.trim().toLowerCase();
  for (const row of runs)
    row.hidden = !cellText(row, 0).toLowerCase().includes(wanted) ||
      (byVerdict.value !== '' && byVerdict.value !== cellText(row, 2));
  const shown = runs.filter((row) => !row.hidden), newest = shown.filter((row) => !row.classList.contains('older'));
  const scenarios = `${newest.length} scenario${newest.length === 1 ? '' : 's'}`;
  document.getElementById('summary').textContent = shown.length === newest.length
    ? `${scenarios}: ${countOf(shown)}`
    : `${scenarios}, by their newest run: ${countOf(newest)}. All ${shown.length} runs: ${countOf(shown)}`;
}

[...table.tHead.rows[0].cells].forEach((head, column) => {
  const button = document.createElement('button');
  button.textContent = head.textContent;
  button.onclick = () => sortBy(head, column);
  head.replaceChildren(button);
});
for (const verdict of [...new Set(runs.map((row) => cellText(row, 2)))].sort())
  byVerdict.append(new Option(verdict, verdict));
byText.oninput = byVerdict.onchange = filter;
document.getElementById('filters').hidden = false;
filter();
