// The theme, before anything is painted: the system's, until a person chooses.
(() => {
  const key = 'sluice-theme';
  const system = matchMedia('(prefers-color-scheme: dark)');
  const stored = () => { try { return localStorage.getItem(key); } catch { return null; } };
  const show = () => {
    const chosen = stored();
    const dark = chosen ? chosen === 'dark' : system.matches;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    const button = document.getElementById('theme');
    if (button) button.setAttribute('aria-pressed', String(dark));
  };
  show();
  system.addEventListener('change', show);
  addEventListener('DOMContentLoaded', () => {
    show();
    document.getElementById('theme').addEventListener('click', () => {
      const dark = document.documentElement.dataset.theme === 'dark';
      try { localStorage.setItem(key, dark ? 'light' : 'dark'); } catch { document.documentElement.dataset.theme = dark ? 'light' : 'dark'; return; }
      show();
    });
  });
})();
