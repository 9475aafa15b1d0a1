// Sorts and filters the table of runs. Without scripts the newest run stands first.
'use strict';
const table = document.getElementById('runs');
const body = table.tBodies[0];
const runs = [...body.rows].filter((row) => row.cells.length > 1);
const byText = document.getElementById('scenario-filter');
const byVerdict = document.getElementById('verdict-filter');
const cellText = (row, column) => row.cells[column].textContent;

// A cell that holds no number comes last.
function compare(a, b, numeric) {
  if (!numeric) return a.localeCompare(b);
  const [x, y] = [parseFloat(a), parseFloat(b)];
  return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : x - y;
}

function sortBy(head, column) {
  const down = head.getAttribute('aria-sort') === 'ascending';
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const numeric = head.classList.contains('n');
  runs.sort((a, b) => (down ? -1 : 1) * compare(cellText(a, column), cellText(b, column), numeric));
  body.prepend(...runs);
}

function filter() {
  const wanted = byText.value.trim().toLowerCase();
  const counts = {};
  for (const row of runs) {
    const verdict = cellText(row, 2);
    row.hidden = !cellText(row, 0).toLowerCase().includes(wanted) ||
      (byVerdict.value !== '' && byVerdict.value !== verdict);
    if (!row.hidden) counts[verdict] = (counts[verdict] || 0) + 1;
  }
  const shown = runs.filter((row) => !row.hidden).length;
  document.getElementById('summary').textContent = [`${shown} run${shown === 1 ? '' : 's'}`,
    ...Object.entries(counts).map(([verdict, n]) => `${n} ${verdict}`)].join(', ');
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
