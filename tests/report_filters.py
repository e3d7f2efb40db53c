"""What a reader does with the filters of a report, as JavaScript for the page."""

# Every use of a filter, with the layout of what it shows, in milliseconds.
FILTERS = """
const section = document.querySelector('#trajectories'), search = section.querySelector('.search'), taken = {};
const time = (name, act) => {
  const start = performance.now();
  act();
  section.getBoundingClientRect();
  taken[name] = performance.now() - start;
};
for (const text of ['a', 'am', 'the list of', 'no such words anywhere', '']) {
  time('search ' + text, () => { search.value = text; search.dispatchEvent(new Event('input')); });
}
for (const select of section.querySelectorAll('select')) {
  for (const option of [1, 0]) {
    time(select.name + option, () => { select.selectedIndex = option; select.dispatchEvent(new Event('change')); });
  }
}
time('next', () => section.querySelector('.next').click());
return taken;
"""
