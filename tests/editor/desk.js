// What a person sees around the sheet: login, banner, windows, notes, progress.

import { config, loaded, service } from './channel.js';
import { lease } from './documents.js';

const words = config.words;
const element = (selector) => document.querySelector(selector);
// How long a note stays.
const TOAST_MS = 4000;

// The signed-in user, as far as the page knows.
export let user = {};

// Asks the service who is signed in and shows it.
export async function refreshLogin() {
  if (config.forgetLogin) localStorage.removeItem('isLogin');
  const { result } = await service('GET', '/api/user');
  user = result ?? {};
  if (result) localStorage.setItem('isLogin', JSON.stringify({ username: user.username, uuid: user.uuid }));
  element('#user-name').textContent = user.username ?? '';
  const button = element('#login-btn');
  button.textContent = words.login;
  button.hidden = Boolean(result);
  return Boolean(result);
}

// Wires the login button and form; `then` runs after a login.
export function wireLogin(then) {
  const form = element('form[data-standin=login]');
  form.querySelector('p').textContent = words.expired;
  element('#login-btn').addEventListener('click', async (event) => {
    event.preventDefault();
    const { result } = await service('POST', '/login', { restore: true });
    if (!result) form.hidden = false;
    else then();
  });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    await service('POST', '/login', { name: form.elements.name.value });
    form.hidden = true;
    then();
  });
}

// Shows or hides the banner of the edit lock.
export function showLease() {
  const banner = element('.lock-banner');
  const text = lease.foreign ? words.lock_foreign : words.lock;
  banner.textContent = text.replace('{holder}', lease.holder ?? '');
  banner.hidden = lease.mine || !lease.banner;
}

// Shows progress up to its end, or to where a fault stops it. Returns whether it came to its end.
export async function showLoading(pause) {
  const bar = element('#loading');
  const last = loaded('EDA-8', 'stuck') ? 20 : 100;
  bar.hidden = false;
  for (let percent = 0; percent <= last; percent += 20) {
    bar.dataset.progress = String(percent);
    bar.textContent = `${words.loading} ${percent} %`;
    await pause();
  }
  bar.hidden = last === 100;
  return last === 100;
}

export function toast(text) {
  const item = document.createElement('li');
  item.textContent = text;
  element('#toasts').append(item);
  setTimeout(() => item.remove(), TOAST_MS);
}

export const modalOpen = () => document.querySelector('.arco-modal') !== null;

// Opens a window with buttons named by their words; the word of the one that is clicked.
export function openModal(title, buttons, text = '') {
  // An outer part of the same class without buttons, as the real one has.
  const outer = document.createElement('div');
  outer.className = 'arco-modal-wrapper';
  const inner = document.createElement('div');
  inner.className = 'arco-modal';
  inner.innerHTML = '<div class="arco-modal"><div class="arco-modal-title"></div>'
    + '<div class="arco-modal-content"></div><div class="arco-modal-footer"></div></div>';
  inner.querySelector('.arco-modal-title').textContent = words[title] ?? title;
  inner.querySelector('.arco-modal-content').textContent = text;
  outer.append(inner);
  document.body.append(outer);
  return new Promise((resolve) => {
    for (const word of buttons) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = words[word];
      button.addEventListener('click', () => {
        outer.remove();
        resolve(word);
      });
      inner.querySelector('.arco-modal-footer').append(button);
    }
  });
}
